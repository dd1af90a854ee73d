/**
 * `npm run disasters -- [cluster] [replication] [sentinels]`: strikes deployments of a throw-away Kubernetes by disasters, while a
 * client writes to them, and writes the tables of docs/failures.md. Without an argument all of them. A cell that is not
 * tried, or cannot be measured, stays as it is.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listenForInterruption } from "../../../cli/terminal/interruption";
import { BadInput, messageOf } from "../../../lib/errors";
import { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import type { Scenario } from "../../../faults/plan/scenario";
import { runScenarios } from "../../../faults/scenarios/run-scenarios";
import type { ScenarioResult } from "../../../faults/scenarios/scenario-run";
import { openDeployment } from "../../../platforms/deployment-reference";
import type { Deployment } from "../../../valkey/deployment";
import type { ServerSettings } from "../../../valkey/settings/settings";
import type { SeenData } from "../../../valkey/verification/kept-data";
import { seenData, withKeptData } from "../../../valkey/verification/kept-data";
import { verify } from "../../../valkey/verification/verify";
import type { PodsKind } from "../../support/kubernetes/deployed-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { KUBECONFIG, ThrowAway } from "../../support/kubernetes/throw-away";
import type { Disaster, Struck } from "./disasters";
import { CERTIFICATE, certificateObject, DISASTERS, MACHINE_COMMAND } from "./disasters";
import type { Outcome } from "./table";
import { formatOutcome, replaceTable } from "./table";

const DOCUMENT = join(__dirname, "../../../docs/failures.md");
const NAME = "struck";
const RECOVERY_SECONDS = 150;
/** Through port-forwards of one API server. */
const LOAD: Scenario["load"] = {
  rate: 200,
  bytes: 64,
  timeoutMs: 3000,
  acknowledgement: { replicas: 1, timeoutMs: 1000 },
};

const REPLICATION: PodsKind = { mode: "replication", shape: { primaries: 1, replicasPerPrimary: 2 } };
const SENTINEL = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
const KINDS: Readonly<Record<string, PodsKind>> = {
  cluster: { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } },
  replication: REPLICATION,
  sentinels: { ...REPLICATION, sentinel: SENTINEL },
};
const PERSISTENCE: readonly (readonly [title: string, settings: ServerSettings])[] = [
  ["no persistence", { save: "" }],
  ["`save`", {}],
  ["append-only file", { save: "", appendonly: true }],
];

/** The first Ctrl-C ends after the pods are gone, the second one at once. */
const { signal } = listenForInterruption(() => process.exit(130));

/** Verifications of a deployment before a disaster, and during it. */
interface Observer {
  /** The last verification before it. */
  readonly onVerified: (seen: SeenData) => void;
  readonly onJudged: (failing: string[]) => void;
}

/** Injector whose `kill` verifies, as `up` does, and strikes, and whose `start` judges the deployment and undoes the disaster first. */
function injectorOf(
  disaster: Disaster,
  pods: DeployedPods,
  { onVerified, onJudged }: Observer,
): typeof PodFaultInjector {
  return class extends PodFaultInjector {
    constructor(...options: ConstructorParameters<typeof PodFaultInjector>) {
      super(...options);
      const { start } = this;
      let struck: Struck[] = [];
      const strike = async (names: readonly string[]): Promise<void> => {
        onVerified(seenData(await verify({ ...this.deployment, nodes: this.nodes() })));
        struck = await Promise.all(names.map((victim) => this.#reach(victim)));
        await Promise.all(struck.map((each) => disaster.strike(each)));
      };
      const undo = async (...[names, options]: Parameters<typeof start>): Promise<void> => {
        onJudged(await failing({ ...this.deployment, nodes: this.nodes() }));
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
  let during: string[] = [];
  const { seconds } = disaster;
  const restart = seconds === undefined ? ("served" as const) : { seconds };
  const scenario: Scenario = {
    name: disaster.id,
    fault: disaster.strikes === "all" ? { kind: "kill-all", newAddresses: true } : { kind: "kill-primary", restart },
    ...{ load: LOAD, settings: new Map<string, string>(), repair: true },
    // Where everything may be lost, more is written before than after: verification compares the lengths of replication streams.
    ...{
      beforeSeconds: disaster.strikes === "all" ? 20 : 2,
      afterSeconds: 1,
      recoveryTimeoutSeconds: RECOVERY_SECONDS,
    },
  };
  let former: SeenData | undefined;
  const observer: Observer = { onVerified: (seen) => (former = seen), onJudged: (ids) => (during = ids) };
  const subject = await pods.subject(injectorOf(disaster, pods, observer));
  const records: ScenarioResult["record"][] = [];
  await runScenarios([{ scenario, repeats: 1, subject }], {
    signal,
    report: (line) => {
      progress(`  ${line}`);
    },
    onResult: ({ record }) => void records.push(record),
  }).catch((error: unknown) => {
    if (records.length === 0) throw error;
  });
  const [record] = records;
  if (record === undefined) throw new Error(`${disaster.id} has no record`);
  const { acknowledged, failed, unknown } = record.writes;
  progress(`  ${acknowledged} writes acknowledged, ${failed} failed, ${unknown} of unknown outcome`);
  if (record.unread > 0) throw new Error(`${record.unread} keys could not be read back`);
  return {
    lost: record.lost.count,
    outSeconds: record.outage.overMs === null ? null : record.outage.longestMs / 1000,
    during,
    after: await failing(await openDeployment(pods.target, pods.password), former),
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
  if (problems.length > 0) throw new BadInput("disasters", problems);
  // A document without a place for a table shows it before hours of measuring.
  for (const word of chosen) replaceTable(readFileSync(DOCUMENT, "utf8"), tableName(word), { columns: [], rows: [] });
  for (const word of chosen) {
    const kind = KINDS[word];
    if (kind === undefined) continue;
    const columns: Cell[][] = [];
    for (const [title, settings] of PERSISTENCE) {
      progress(`${word}, ${title}`);
      columns.push(await column(kind, settings));
      writeTable(word, kind, columns);
    }
  }
}

/** Writes what is measured so far: an interruption loses one column at most. */
function writeTable(word: string, kind: PodsKind, columns: readonly (readonly Cell[])[]): void {
  const rows = possible(kind).map(
    ({ title }, row) => [title, PERSISTENCE.map((_each, index) => columns[index]?.[row])] as const,
  );
  const table = { columns: PERSISTENCE.map(([title]) => title), rows };
  writeFileSync(DOCUMENT, replaceTable(readFileSync(DOCUMENT, "utf8"), tableName(word), table));
}

void main(process.argv.slice(2)).then(
  () => process.exit(),
  (error: unknown) => {
    progress(messageOf(error));
    process.exit(error instanceof BadInput ? 2 : 1);
  },
);
