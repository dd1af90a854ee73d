/** Empties nodes to remove, moves the primary if its node is removed, and stops Sentinels that are removed. */
import { compact } from "../../../lib/compact";
import { Failure, messageOf } from "../../../lib/errors";
import type { DeploymentReference, KubernetesReference } from "../../../platforms/deployment-reference";
import { openKubernetesClient, openRunningPart, openRunningServers } from "../../../platforms/deployment-reference";
import {
  type StatefulSetName,
  findStatefulSet,
  POLL_MS,
} from "../../../platforms/kubernetes/volumes/statefulset-volumes";
import { withConnections } from "../../../valkey/connections";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { unknownNodes, ownAllSlots } from "../../../valkey/membership/member-state";
import { readMemberStates } from "../../../valkey/membership/members";
import { nodeCount } from "../../../valkey/topology/placement";
import { listNames } from "../../../valkey/verification/violations";
import { tightenBudgets } from "../../changes/budgets";
import type { ResourceHandler } from "../../protocol/resource-handler";
import { isLed, PrimaryMoves } from "../../changes/primary-moves";
import type { WaitOptions } from "../../../lib/progress";
import { waitOptions } from "../../protocol/waiting";
import { awaitCondition } from "../../../lib/polling";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";

export interface ScaleInInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  readonly timeoutSeconds: number;
}

export interface ScaleInOutputs {
  /** ISO 8601; also if a failed update may have moved all slots of nodes away, which need a new formation. */
  readonly emptiedAt: string | null;
}

interface FormerNodes {
  readonly deployment: Deployment;
  readonly absent: readonly string[];
}

/** A smaller shape keeps the first nodes, because Kubernetes deletes the pods with the highest ordinals. */
function nodeNames(target: DeploymentReference): string[] {
  if (target.platform === "endpoints") return target.nodes.map(({ name }) => name);
  return Array.from({ length: nodeCount(target.shape) }, (_, ordinal) => `${target.statefulSet}-${ordinal}`);
}

/**
 * Waits for nodes to remove, which must hand over slots, unless no member knows them. One that does not run in time may
 * go if the others have all slots.
 * @throws Failure if a node to keep does not run, or a missing one has slots
 */
async function openFormerNodes(
  target: DeploymentReference,
  password: string,
  staying: ReadonlySet<string>,
  options: WaitOptions,
): Promise<FormerNodes> {
  const names = nodeNames(target);
  const absentFrom = ({ nodes }: Deployment): string[] => {
    const running = new Set(nodes.map(({ name }) => name));
    return names.filter((name) => !running.has(name));
  };
  const joined = await nodesThatJoined();
  if (joined !== undefined) return joined;

  const part = await openRunningServers(target, password, options);
  if (part === undefined) throw new Failure(`${target.name}: no server runs`);
  const { deployment, why } = part;
  const absent = absentFrom(deployment);
  if (absent.some((name) => staying.has(name))) throw new Failure(why ?? `${listNames(absent)} do not run`);
  if (absent.length > 0) {
    const { states } = await withConnections(deployment, readMemberStates);
    if (unknownNodes(states).length > 0 && !ownAllSlots(states))
      throw new Failure(
        `${target.name}: some slots belong to nodes that do not run, and no other node has the data of these slots. Start ${listNames(absent)} again, ` +
          `or undo the change of primaries or replicas${why === undefined ? "" : `. Why these nodes do not run: ${why}`}`,
      );
  }
  return { deployment, absent };

  /** Without waiting. Defined if all nodes to keep run, and no running node knows one that does not run. */
  async function nodesThatJoined(): Promise<FormerNodes | undefined> {
    if (target.platform !== "kubernetes") return undefined;
    const deployment = await openRunningPart(await openKubernetesClient(target), target, password);
    const absent = absentFrom(deployment);
    if (absent.length === 0 || absent.some((name) => staying.has(name))) return undefined;
    try {
      const { states } = await withConnections(deployment, readMemberStates);
      return unknownNodes(states).length === 0 ? { deployment, absent: [] } : undefined;
    } catch (error) {
      options.signal.throwIfAborted();
      options.report(messageOf(error), true);
      return undefined;
    }
  }
}

/** Does nothing with Sentinels before and after. Sentinels that are added later find the primary in its new pod. */
async function keepPrimary(
  former: readonly DeploymentReference[],
  target: DeploymentReference,
  password: string,
  options: WaitOptions,
): Promise<void> {
  if (former.every(({ shape }) => nodeCount(shape) <= nodeCount(target.shape))) return;
  const led = former.find((each) => each.platform === "kubernetes" && isLed(each));
  if (led?.platform !== "kubernetes" || !isLed(led) || target.platform !== "kubernetes") return;
  // With Sentinels a replica takes over when the pod stops.
  if (led.sentinel !== undefined && target.sentinel !== undefined) return;
  const kubernetes = await openKubernetesClient(target);
  if ((await findStatefulSet(kubernetes, led)) === undefined) return;
  await new PrimaryMoves(kubernetes, { ...led, shape: target.shape }, password, options).keep();
}

/** Sentences for the preview of a change that adds or removes Sentinels; empty for other changes. */
function describeSentinels(before: DeploymentReference, after: DeploymentReference): string[] {
  if (before.platform !== "kubernetes" || after.platform !== "kubernetes") return [];
  if ((before.sentinel === undefined) === (after.sentinel === undefined)) return [];
  return after.sentinel === undefined
    ? ["Sentinels are removed: the primary stays the same, and no replica takes over when the primary fails"]
    : ["Sentinels are added: a replica takes over when the primary fails, and clients connect through proxies"];
}

/**
 * Prepares the deployment. After a failure, some slots have moved to their new primaries and other slots have not
 * moved, but all slots are served. Emptied nodes are outside the cluster. If the next update also wants fewer nodes,
 * that update continues the change. If the next update wants the former number of nodes, `Formation` adds the nodes to
 * the cluster again. Sentinels to remove may be stopped already. In this state, no replica takes over when the primary
 * fails. These Sentinels run again when the change is undone.
 */
export const handler: ResourceHandler<ScaleInInputs, ScaleInOutputs> = {
  describeChange: ({ target: before }, { target: after = before }) => {
    const [from, to] = [nodeCount(before.shape), nodeCount(after.shape)];
    const how = after.mode === "cluster" ? "slots move while clients work" : "the last replicas join or leave";
    return compact([
      from === to
        ? undefined
        : `${from} nodes become ${to}: ${how}, in about a minute, longer with much data; no node restarts`,
      ...describeSentinels(before, after),
    ]);
  },
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: { emptiedAt: null } }),
  recordsAttempts: true,
  update: async (_id, olds, { target, password, timeoutSeconds }, context, attempts = []) => {
    const after = nodeCount(target.shape);
    const { emptiedAt } = olds;
    const former = [olds, ...attempts].map((each) => each.target);
    const options = waitOptions(target.name, timeoutSeconds, context);
    await settleSentinels({ former, target, password }, options);
    await keepPrimary(former, target, password, options);
    const now = new Date().toISOString();
    if (target.mode !== "cluster" || after >= nodeCount(olds.target.shape))
      return { emptiedAt: attempts.length > 0 ? now : emptiedAt };
    const stays = new Set(nodeNames(olds.target).slice(0, after));
    const { deployment, absent } = await openFormerNodes(olds.target, password, stays, options);
    const nodes = deployment.nodes.filter(({ name }) => stays.has(name));
    const leaving = deployment.nodes.filter(({ name }) => !stays.has(name));
    if (absent.length > 0)
      context.report(
        `${target.name}: removing ${listNames(absent)} although they do not run, because the other nodes have all slots`,
      );
    const staying = { ...deployment, shape: target.shape, nodes };
    await tightenBudgets(target);
    await form(staying, target.shape, { leaving, absent, timeoutMs: options.timeoutMs, signal: context.signal });
    return { emptiedAt: now };
  },
};

interface SentinelChange {
  /** References to the deployment: as it was before the change, and as failed updates wanted it. */
  readonly former: readonly DeploymentReference[];
  readonly target: DeploymentReference;
  readonly password: string;
}

/**
 * Before servers start without Sentinels, which could elect a different primary than the designated one. Undone changes
 * let them run again. If the program is killed half-way, nobody takes over until the next update, before which a
 * refresh must come if it would change nothing.
 * @throws Failure, after which Sentinels run again
 */
async function settleSentinels({ former, target, password }: SentinelChange, options: WaitOptions): Promise<void> {
  if (target.platform !== "kubernetes") return;
  const kubernetes = await openKubernetesClient(target);
  const scale = ({ namespace, sentinel }: KubernetesReference, count = sentinel?.settings.count ?? 0): Promise<void> =>
    scaleSet(kubernetes, { namespace, statefulSet: sentinel?.statefulSet ?? "" }, count, options);
  const pods = former.flatMap((each) => (each.platform === "kubernetes" ? [each] : []));
  if (target.sentinel !== undefined) {
    if (pods.some(({ sentinel }) => sentinel === undefined)) await scale(target);
    return;
  }
  const watched = pods.find(({ sentinel }) => sentinel !== undefined);
  // An update that failed early may have created no StatefulSet.
  if (watched === undefined || !isLed(watched) || (await findStatefulSet(kubernetes, watched)) === undefined) return;
  try {
    await new PrimaryMoves(kubernetes, watched, password, options).designateElected(() => scale(watched, 0));
  } catch (error) {
    await scale(watched).catch(() => undefined);
    throw error;
  }
}

/** Waits until all pods are ready and all other pods are gone. Does nothing if the StatefulSet does not exist. */
async function scaleSet(
  kubernetes: KubernetesClient,
  set: StatefulSetName,
  replicas: number,
  { timeoutMs, signal }: WaitOptions,
): Promise<void> {
  const { namespace, statefulSet: name } = set;
  const found = await findStatefulSet(kubernetes, set);
  if (found === undefined) return;
  if (found.spec?.replicas !== replicas)
    await kubernetes.call(
      `scaling StatefulSet ${name} of namespace ${namespace}`,
      kubernetes.apps.patchNamespacedStatefulSet({
        ...{ namespace, name },
        body: [{ op: "replace", path: "/spec/replicas", value: replicas }],
      }),
    );
  const isScaled = async (): Promise<boolean> => {
    const { metadata, status } = (await findStatefulSet(kubernetes, set)) ?? {};
    if (metadata?.generation !== status?.observedGeneration) return false;
    return (status?.replicas ?? 0) <= replicas && (status?.readyReplicas ?? 0) >= replicas;
  };
  await awaitCondition(`${name} has ${replicas} pods and all are ready`, isScaled, {
    intervalMs: POLL_MS,
    timeoutMs,
    signal,
  });
}
