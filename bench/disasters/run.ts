/**
 * `npm run disasters -- [cluster] [replication] [sentinels]`: strikes deployments of a throw-away Kubernetes by disasters, while a
 * client writes to them, and writes the tables of docs/failures.md. Without an argument all of them. A cell that is not
 * tried, or cannot be measured, stays as it is.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { listenForInterruption } from "../../cli/terminal/interruption";
import { BadInput, messageOf } from "../../lib/errors";
import { PodFaultInjector } from "../../faults/injectors/pod-injector";
import { openDeployment } from "../../platforms/deployment-reference";
import type { Fault } from "../../faults/plan/fault";
import type { Deployment } from "../../valkey/deployment";
import type { ServerSettings } from "../../valkey/settings/settings";
import type { SeenData } from "../../valkey/verification/facts";
import { seenData } from "../../valkey/verification/kept-data";
import { verify, withKeptData } from "../../valkey/verification/verify";
import { type PodsKind, DeployedPods, deleteSentinels, podLabels } from "../../tests/support/kubernetes/deployed-pods";
import { MACHINE_COMMAND } from "../../tests/support/kubernetes/machines";
import { KUBECONFIG, ThrowAway, isReady } from "../../tests/support/kubernetes/throw-away";
import { APPEND_ONLY, CLUSTER, NO_PERSISTENCE, REPLICATION, SENTINELS, runFault, writeLoad } from "../fault-driver";
import { type Outcome, formatOutcome, replaceTable } from "./table";
import type { KubernetesObject } from "../../tests/support/kubernetes/kubernetes-objects";
import { CertificateAuthority } from "../../tests/support/kubernetes/certificates";

const DOCUMENT = join(__dirname, "../../docs/failures.md");
const NAME = "struck";
const RECOVERY_SECONDS = 150;
/** Through port-forwards of one API server. */
const LOAD = writeLoad(200, 1);
const KINDS: Readonly<Record<string, PodsKind>> = { cluster: CLUSTER, replication: REPLICATION, sentinels: SENTINELS };
const COLUMNS: readonly (readonly [title: string, settings: ServerSettings])[] = [
  ["no persistence", NO_PERSISTENCE],
  ["`save`", {}],
  ["append-only file", APPEND_ONLY],
];

/** The first Ctrl-C ends after the pods are gone, the second one at once. */
const { signal } = listenForInterruption(() => process.exit(130));

interface Observed {
  /** Data at the last verification before it. */
  former?: SeenData;
  during: string[];
}

/** Injector whose `kill` verifies, as `up` does, and strikes, and whose `start` judges the deployment and undoes the disaster first. */
function injectorOf(disaster: Disaster, pods: DeployedPods, observed: Observed): typeof PodFaultInjector {
  return class extends PodFaultInjector {
    constructor(...options: ConstructorParameters<typeof PodFaultInjector>) {
      super(...options);
      const { start } = this;
      let struck: Struck[] = [];
      const strike = async (names: readonly string[]): Promise<void> => {
        observed.former = seenData(await verify({ ...this.deployment, nodes: this.nodes() }));
        struck = await Promise.all(names.map((victim) => this.#reach(victim)));
        await Promise.all(struck.map((each) => disaster.strike(each)));
      };
      const undo = async (...[names, options]: Parameters<typeof start>): Promise<void> => {
        observed.during = await failing({ ...this.deployment, nodes: this.nodes() });
        for (const each of struck) await disaster.undo?.(each);
        await start(names, options);
      };
      Object.assign(this, { kill: strike, start: undo });
    }

    async #reach(victim: string): Promise<Struck> {
      const { sentinels } = this.deployment;
      const node = [...this.nodes(), ...(sentinels?.nodes ?? [])].find(({ name }) => name === victim);
      if (node === undefined) throw new Error(`there is no pod ${victim}`);
      const connection = await this.deployment.connect(node, 60_000);
      return { pods, victim, call: (command, ...words) => connection.call(command, ...words) };
    }
  };
}

/** Assertions of the verdict that fail at this moment. @param former data to compare with */
async function failing(deployment: Deployment, former?: SeenData): Promise<string[]> {
  const verification = await verify(deployment);
  const { verdict } = former === undefined ? verification : withKeptData(verification, former);
  return verdict.assertions.filter(({ pass }) => !pass).map(({ id }) => id);
}

async function strike(disaster: Disaster, pods: DeployedPods): Promise<Outcome> {
  const { seconds } = disaster;
  const isAll = disaster.strikes === "all";
  const fault: Fault = isAll ? { kind: "kill-all", newAddresses: true } : { kind: "kill-primary", restart: seconds };
  // Where everything may be lost, more is written before than after: verification compares the lengths of replication streams.
  const times = { beforeSeconds: isAll ? 20 : 2, afterSeconds: 1, recoveryTimeoutSeconds: RECOVERY_SECONDS };
  const observed: Observed = { during: [] };
  const subject = await pods.subject(injectorOf(disaster, pods, observed));
  const report = (line: string): void => {
    progress(`  ${line}`);
  };
  const options = { report, mayStayBroken: true };
  const [record] = await runFault(subject, { name: disaster.id, fault, load: LOAD, ...times }, signal, options);
  if (record === undefined) throw new Error(`${disaster.id} has no record`);
  if (record.unread > 0) throw new Error(`${record.unread} keys could not be read back`);
  return {
    lost: record.lost.count,
    outSeconds: record.outage.overMs === null ? null : record.outage.longestMs / 1000,
    during: observed.during,
    after: await failing(await openDeployment(pods.target, pods.password), observed.former),
  };
}

/** An outcome; undefined where the disaster was not tried, or could not be measured. */
type Cell = Outcome | undefined;

async function cellOf(disaster: Disaster, pods: DeployedPods): Promise<Cell> {
  try {
    const outcome = await strike(disaster, pods);
    progress(`${disaster.id}: ${formatOutcome(outcome)}`);
    return outcome;
  } catch (error) {
    signal.throwIfAborted();
    process.exitCode = 1;
    progress(`${disaster.id}: not measured: ${messageOf(error)}`);
    return undefined;
  }
}

async function column(kind: PodsKind, settings: ServerSettings): Promise<Cell[]> {
  const cells: Cell[] = [];
  let pods: DeployedPods | undefined;
  try {
    for (const disaster of possible(kind)) {
      if (!isTried(disaster)) {
        cells.push(undefined);
        continue;
      }
      pods ??= await deploy(kind, settings);
      cells.push(await cellOf(disaster, pods));
      if (await isWholeAgain(pods)) continue;
      await pods.close();
      pods = undefined;
    }
  } finally {
    await pods?.close();
  }
  return cells;
}

function isTried({ id }: Disaster): boolean {
  if (id === "machine" && MACHINE_COMMAND === undefined) return false;
  return only?.includes(id) ?? true;
}

async function deploy(kind: PodsKind, settings: ServerSettings): Promise<DeployedPods> {
  const here = await ThrowAway.open();
  await here.apply([certificateObject(NAME, here.namespace, {})]);
  const own = kind.mode === "cluster" ? { "cluster-node-timeout": 5000 } : {};
  const all: ServerSettings = { "repl-diskless-sync-delay": 0, "enable-debug-command": "local", ...own, ...settings };
  return DeployedPods.open(NAME, kind, { settings: all, tls: { secretName: CERTIFICATE } }, here);
}

/** Makes the pods of primaries again: a kubelet lets a container wait longer each time that it ends. */
async function isWholeAgain(pods: DeployedPods): Promise<boolean> {
  try {
    await pods.renew(await pods.primaries());
    return true;
  } catch (error) {
    signal.throwIfAborted();
    progress(`the next one strikes a new deployment: ${messageOf(error)}`);
    return false;
  }
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Disasters by id that VALKEY_TEST_DISASTERS names, with commas between them. @default all */
const only = process.env["VALKEY_TEST_DISASTERS"]?.split(",");

function possible({ sentinel }: PodsKind): readonly Disaster[] {
  return DISASTERS.filter((each) => each.only === undefined || sentinel !== undefined);
}

const tableName = (word: string): string => `disasters of ${word}`;

async function main(words: readonly string[]): Promise<void> {
  const chosen = words.length === 0 ? Object.keys(KINDS) : words;
  const problems = words
    .filter((word) => !(word in KINDS))
    .map((word) => `"${word}": expected ${Object.keys(KINDS).join(", ")}`);
  if (KUBECONFIG === undefined) problems.push("VALKEY_TEST_KUBECONFIG names no throw-away cluster");
  const ids = DISASTERS.map(({ id }) => id);
  for (const id of only ?? [])
    if (!ids.includes(id)) problems.push(`VALKEY_TEST_DISASTERS: "${id}": expected ${ids.join(", ")}`);
  if (problems.length > 0) throw BadInput.of("disasters", "wrong-input", problems);
  // A document without a place for a table shows it before hours of measuring.
  for (const word of chosen) replaceTable(readFileSync(DOCUMENT, "utf8"), tableName(word), { columns: [], rows: [] });
  for (const word of chosen) {
    const kind = KINDS[word];
    if (kind === undefined) continue;
    const columns: Cell[][] = [];
    for (const [title, settings] of COLUMNS) {
      progress(`${word}, ${title}`);
      columns.push(await column(kind, settings));
      writeTable(word, kind, columns);
    }
  }
}

/** Writes what is measured so far: an interruption loses one column at most. */
function writeTable(word: string, kind: PodsKind, columns: readonly (readonly Cell[])[]): void {
  const rows = possible(kind).map(
    ({ title }, row) => [title, COLUMNS.map((_each, index) => columns[index]?.[row])] as const,
  );
  const table = { columns: COLUMNS.map(([title]) => title), rows };
  writeFileSync(DOCUMENT, replaceTable(readFileSync(DOCUMENT, "utf8"), tableName(word), table));
}

/** Secret with the certificate of a deployment that disasters strike. */
const CERTIFICATE = "certificate";

/** A deployment, the pod of one of its primaries, and commands to that pod. */
interface Struck {
  readonly pods: DeployedPods;
  readonly victim: string;
  /** Calls the victim's server on a connection that stays open. */
  readonly call: (...command: [string, ...string[]]) => Promise<unknown>;
}

interface Disaster {
  readonly id: string;
  readonly title: string;
  /** @default one primary */
  readonly strikes?: "all";
  /** Time for which it lasts, seconds. @default until all writes are served again */
  readonly seconds?: number;
  /** @default it happens everywhere */
  readonly only?: "sentinels";
  readonly strike: (struck: Struck) => Promise<unknown>;
  /** @default nothing: the deployment recovers by itself */
  readonly undo?: (struck: Struck) => Promise<unknown>;
}

const DISASTERS: readonly Disaster[] = [
  { id: "process", title: "process killed", strike: crash },
  { id: "pod", title: "pod deleted without grace", strike: deletePod },
  {
    ...{ id: "machine", title: "machine off for 40 s", seconds: 40 },
    ...{ strike: (struck) => machine("stop", struck), undo: (struck) => machine("start", struck) },
  },
  {
    ...{ id: "frozen", title: "frozen for 30 s", seconds: 32 },
    strike: ({ call }) => Promise.resolve(void call("DEBUG", "SLEEP", "30").catch(() => undefined)),
  },
  { id: "volume", title: "volume lost with its pod", strike: loseVolume },
  { id: "all-pods", title: "all pods deleted at once", strikes: "all", strike: deletePod },
  {
    ...{ id: "sentinels", title: "all Sentinels deleted, then the process killed", only: "sentinels" },
    strike: loseSentinels,
  },
  {
    ...{ id: "expired", title: "certificate expired", seconds: 120, undo: restoreCertificate },
    strike: (struck) => replaceCertificate(struck, { days: -1 }),
  },
  {
    ...{ id: "authority", title: "wrong authority", seconds: 120, undo: restoreCertificate },
    strike: (struck) => replaceCertificate(struck, { foreignAuthority: true }),
  },
  {
    ...{ id: "image", title: "image that cannot be pulled", seconds: 40, undo: restoreImage },
    strike: ({ pods }) => setImage(pods, "docker.io/valkey/valkey:none"),
  },
  { id: "quota", title: "quota reached during a scale-out", seconds: 20, strike: scaleBeyondQuota, undo: scaleBack },
  {
    ...{ id: "password", title: "password changed by hand", seconds: 40 },
    strike: ({ call }) => call("ACL", "SETUSER", "default", "resetpass", ">other"),
    undo: ({ call }) => call("ACL", "LOAD"),
  },
];

/** The server ends without a reply, and without saving. */
function crash({ call }: Struck): Promise<unknown> {
  return call("SHUTDOWN", "NOSAVE", "NOW", "FORCE").catch(() => undefined);
}

async function deletePod(struck: Struck): Promise<void> {
  const { here } = struck.pods;
  await here.core.deleteNamespacedPod({ namespace: here.namespace, name: struck.victim, gracePeriodSeconds: 0 });
  // The kubelet gives the container a second or two, in which a primary would hand over.
  await crash(struck);
}

async function loseVolume(struck: Struck): Promise<void> {
  const { here } = struck.pods;
  const name = `data-${struck.victim}`;
  await here.core.deleteNamespacedPersistentVolumeClaim({ namespace: here.namespace, name });
  await deletePod(struck);
}

async function loseSentinels(struck: Struck): Promise<void> {
  const { here, target } = struck.pods;
  await deleteSentinels(here.core, target);
  await crash(struck);
}

async function machine(action: "start" | "stop", { pods: { here }, victim }: Struck): Promise<void> {
  const { spec } = await here.core.readNamespacedPod({ namespace: here.namespace, name: victim });
  const [program = "", ...words] = (MACHINE_COMMAND ?? "").split(" ");
  await promisify(execFile)(program, [...words, action, spec?.nodeName ?? ""]);
}

/** Clients trust it throughout: a disaster changes the certificates of servers. */
const AUTHORITY = new CertificateAuthority();

/** Names of all servers, Sentinels and Services of a deployment in a namespace. */
function certificateObject(name: string, namespace: string, change: CertificateChange): KubernetesObject {
  const suffix = `${namespace}.svc.cluster.local`;
  const pods = [`${name}-headless`, `${name}-sentinel`].map((service) => `*.${service}.${suffix}`);
  const issuer = change.foreignAuthority === true ? new CertificateAuthority() : AUTHORITY;
  const data = { ...issuer.issue([`${name}.${suffix}`, ...pods], change.days), "ca.crt": AUTHORITY.certificate };
  return { apiVersion: "v1", kind: "Secret", metadata: { name: CERTIFICATE, namespace }, data } as KubernetesObject;
}

interface CertificateChange {
  /** Days for which it is valid. @default 1 */
  readonly days?: number;
  /** Whether another authority has issued it than the one in the Secret. */
  readonly foreignAuthority?: boolean;
}

function replaceCertificate({ pods: { here, target } }: Struck, change: CertificateChange): Promise<void> {
  return here.apply([certificateObject(target.name, here.namespace, change)]);
}

/** Servers and Sentinels load a certificate when their kubelet has seen that the Secret changed. */
async function restoreCertificate(struck: Struck): Promise<void> {
  const { here, target, password } = struck.pods;
  await replaceCertificate(struck, {});
  await here.until(180, async () => {
    const { verdict } = await verify(await openDeployment(target, password));
    return verdict.assertions.find(({ id, pass }) => !pass && (id === "reachable" || id.startsWith("sentinels-")))
      ?.found;
  });
}

const images = new Map<string, string>();

async function setImage({ here, target }: DeployedPods, image: string): Promise<void> {
  const name = { namespace: here.namespace, name: target.statefulSet };
  const former = (await here.apps.readNamespacedStatefulSet(name)).spec?.template.spec?.containers[0]?.image ?? "";
  images.set(here.namespace, former);
  const path = "/spec/template/spec/containers/0/image";
  await here.apps.patchNamespacedStatefulSet({ ...name, body: [{ op: "replace", path, value: image }] });
}

async function restoreImage({ pods }: Struck): Promise<void> {
  const { here, target } = pods;
  await setImage(pods, images.get(here.namespace) ?? "");
  // A StatefulSet does not replace a pod that cannot start.
  for (const pod of await here.pods(podLabels(target.name)))
    if (!isReady(pod))
      await here.core.deleteNamespacedPod({ namespace: here.namespace, name: pod.metadata?.name ?? "" });
}

const QUOTA = "full";

async function scaleBeyondQuota({ pods }: Struck): Promise<void> {
  const { here } = pods;
  const count = (await here.core.listNamespacedPod({ namespace: here.namespace })).items.length;
  const metadata = { name: QUOTA, namespace: here.namespace };
  await here.apply([{ apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard: { pods: String(count) } } }]);
  await scale(pods, 2);
}

async function scaleBack({ pods }: Struck): Promise<void> {
  const { here } = pods;
  await scale(pods, -2);
  await here.core.deleteNamespacedResourceQuota({ namespace: here.namespace, name: QUOTA });
}

async function scale({ here, target }: DeployedPods, by: number): Promise<void> {
  const name = { namespace: here.namespace, name: target.statefulSet };
  const { spec } = await here.apps.readNamespacedStatefulSet(name);
  const value = (spec?.replicas ?? 0) + by;
  await here.apps.patchNamespacedStatefulSet({ ...name, body: [{ op: "replace", path: "/spec/replicas", value }] });
}

void main(process.argv.slice(2)).then(
  () => process.exit(),
  (error: unknown) => {
    progress(messageOf(error));
    process.exit(error instanceof BadInput ? 2 : 1);
  },
);
