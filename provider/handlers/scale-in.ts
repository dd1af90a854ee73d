/** Readies a deployment for what it loses: empties nodes that leave, moves a primary that leaves, and stops Sentinels that leave. */
import { compact } from "../../lib/compact";
import { Failure, messageOf } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openKubernetesClient, openRunningPart, openRunningServers } from "../../platforms/deployment-reference";
import { findStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { withConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { form } from "../../valkey/formation/form";
import { unknownNodes } from "../../valkey/membership/member-state";
import { readMemberStates } from "../../valkey/membership/members";
import { ownAllSlots } from "../../valkey/resize/resize-facts";
import { nodeCount } from "../../valkey/topology/placement";
import { listNames } from "../../valkey/verification/assertion";
import { tightenBudgets } from "../updates/budgets";
import type { ResourceHandler } from "../protocol/resource-handler";
import { isLed, PrimaryMoves } from "../updates/primary-moves";
import { settleSentinels } from "../updates/sentinel-retirement";
import type { WaitOptions } from "../../lib/progress";
import { waitOptions } from "../protocol/waiting";

export interface ScaleInInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Time limit of the change. */
  readonly timeoutSeconds: number;
}

export interface ScaleInOutputs {
  /** Time when nodes were last emptied, or perhaps were, ISO 8601: a new formation is due. Undefined when never */
  readonly emptiedAt?: string | undefined;
}

/** The nodes of the former shape that run, and the names of those that do not. */
interface FormerNodes {
  readonly deployment: Deployment;
  readonly absent: readonly string[];
}

/** Names of the nodes, in the order in which a smaller shape keeps them: Kubernetes deletes the pods with the highest ordinals. */
function nodeNames(target: DeploymentReference): string[] {
  if (target.platform === "endpoints") return target.nodes.map(({ name }) => name);
  return Array.from({ length: nodeCount(target.shape) }, (_, ordinal) => `${target.statefulSet}-${ordinal}`);
}

/**
 * Opens the nodes of the former shape. Those that leave need not run where no member knows them: they never joined. Others are waited
 * for, so that they hand over what they have; one that does not run then may leave where the others have all slots.
 * @throws Failure where a node that stays does not run, or where slots are with nodes that do not run
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
        `${target.name}: slots are with nodes that do not run, and no other node has their data. Start ${listNames(absent)} again, ` +
          `or undo the change of the shape (${why ?? "they do not run"})`,
      );
  }
  return { deployment, absent };

  /** The nodes that run, where all that stay are among them and nobody knows any other; without waiting. */
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

/** Moves a primary that leaves, as long as the servers run without Sentinels: those that come find it where it is then. */
async function keepPrimary(
  former: readonly DeploymentReference[],
  target: DeploymentReference,
  password: string,
  options: WaitOptions,
): Promise<void> {
  if (former.every(({ shape }) => nodeCount(shape) <= nodeCount(target.shape))) return;
  const led = former.find((each) => each.platform === "kubernetes" && isLed(each));
  if (led?.platform !== "kubernetes" || !isLed(led) || target.platform !== "kubernetes") return;
  // Sentinels have a replica take over when a pod stops.
  if (led.sentinel !== undefined && target.sentinel !== undefined) return;
  const kubernetes = await openKubernetesClient(target);
  if ((await findStatefulSet(kubernetes, led)) === undefined) return;
  await new PrimaryMoves(kubernetes, { ...led, shape: target.shape }, password, options).keep();
}

/** Sentences about a primary that fails, once Sentinels come or go. */
function describeSentinels(before: DeploymentReference, after: DeploymentReference): string[] {
  if (before.platform !== "kubernetes" || after.platform !== "kubernetes") return [];
  if ((before.sentinel === undefined) === (after.sentinel === undefined)) return [];
  return after.sentinel === undefined
    ? ["Sentinels leave: the primary stays where it is, and no replica takes over any more when it fails"]
    : ["Sentinels come: a replica takes over when the primary fails, and clients connect through proxies"];
}

/**
 * A failure leaves slots anywhere between their former and their new primaries, all served, and emptied nodes outside the cluster. The
 * next update with fewer nodes goes on; one with the former number has `Formation` take the nodes in again. Sentinels that leave are stopped
 * then, and nobody fails over; they run again once the change is taken back.
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
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
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
      context.report(`${target.name}: ${listNames(absent)} leave without running; the others have all slots`);
    const staying = { ...deployment, shape: target.shape, nodes };
    await tightenBudgets(target);
    await form(staying, target.shape, { leaving, absent, timeoutMs: options.timeoutMs, signal: context.signal });
    return { emptiedAt: now };
  },
};
