/** Disasters that strike a deployment of pods while a client writes to it, and how each is undone. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { CertificateAuthority } from "../../support/kubernetes/certificates";
import type { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { deleteSentinels, podLabels } from "../../support/kubernetes/deployed-pods";
import { openDeployment } from "../../../platforms/deployment-reference";
import { verify } from "../../../valkey/verification/verify";
import { isReady } from "../../support/kubernetes/throw-away";

/** Secret with the certificate of a deployment that disasters strike. */
export const CERTIFICATE = "certificate";
/**
 * Command that is called with `stop MACHINE`, as a power cut does, and with `start MACHINE`; undefined where the environment names none.
 */
export const MACHINE_COMMAND = process.env["VALKEY_TEST_MACHINE_COMMAND"];

/** A deployment, the pod of one of its primaries, and commands to that pod. */
export interface Struck {
  readonly pods: DeployedPods;
  /** Name of the pod. */
  readonly victim: string;
  /** Calls the victim's server on a connection that stays open. */
  readonly call: (...command: [string, ...string[]]) => Promise<unknown>;
}

export interface Disaster {
  readonly id: string;
  /** For the table. */
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

export const DISASTERS: readonly Disaster[] = [
  { id: "process", title: "process killed", strike: crash },
  { id: "pod", title: "pod deleted without grace", strike: deletePod },
  {
    id: "machine",
    title: "machine off for 40 s",
    seconds: 40,
    strike: (struck) => machine("stop", struck),
    undo: (struck) => machine("start", struck),
  },
  {
    id: "frozen",
    title: "frozen for 30 s",
    seconds: 32,
    strike: ({ call }) => Promise.resolve(void call("DEBUG", "SLEEP", "30").catch(() => undefined)),
  },
  { id: "volume", title: "volume lost with its pod", strike: loseVolume },
  { id: "all-pods", title: "all pods deleted at once", strikes: "all", strike: deletePod },
  {
    id: "sentinels",
    title: "all Sentinels deleted, then the process killed",
    only: "sentinels",
    strike: loseSentinels,
  },
  {
    id: "expired",
    title: "certificate expired",
    seconds: 120,
    strike: (struck) => replaceCertificate(struck, { days: -1 }),
    undo: restoreCertificate,
  },
  {
    id: "authority",
    title: "wrong authority",
    seconds: 120,
    strike: (struck) => replaceCertificate(struck, { foreignAuthority: true }),
    undo: restoreCertificate,
  },
  {
    id: "image",
    title: "image that cannot be pulled",
    seconds: 40,
    strike: ({ pods }) => setImage(pods, "docker.io/valkey/valkey:none"),
    undo: async ({ pods }) => {
      await setImage(pods, undefined);
      await deleteUnready(pods);
    },
  },
  { id: "quota", title: "quota reached during a scale-out", seconds: 20, strike: scaleBeyondQuota, undo: scaleBack },
  {
    id: "password",
    title: "password changed by hand",
    seconds: 40,
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
  if (MACHINE_COMMAND === undefined) throw new Error("VALKEY_TEST_MACHINE_COMMAND is not set");
  const { spec } = await here.core.readNamespacedPod({ namespace: here.namespace, name: victim });
  const [program = "", ...words] = MACHINE_COMMAND.split(" ");
  await promisify(execFile)(program, [...words, action, spec?.nodeName ?? ""]);
}

/** Clients trust it throughout: a disaster changes the certificates of servers. */
const AUTHORITY = new CertificateAuthority();

/** Names of all servers, Sentinels and Services of a deployment in a namespace. */
export function certificateObject(name: string, namespace: string, change: CertificateChange): KubernetesObject {
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

async function setImage({ here, target }: DeployedPods, image: string | undefined): Promise<void> {
  const name = { namespace: here.namespace, name: target.statefulSet };
  const { spec } = await here.apps.readNamespacedStatefulSet(name);
  const former = spec?.template.spec?.containers[0]?.image ?? "";
  if (image !== undefined) images.set(here.namespace, former);
  const value = image ?? images.get(here.namespace);
  await here.apps.patchNamespacedStatefulSet({
    ...name,
    body: [{ op: "replace", path: "/spec/template/spec/containers/0/image", value }],
  });
}

/** A StatefulSet does not replace a pod that cannot start. */
async function deleteUnready({ here, target }: DeployedPods): Promise<void> {
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
