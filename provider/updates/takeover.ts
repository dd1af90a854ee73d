/**
 * Makes a replica the primary of a shard (takeover). The shard has lost its primary for good, and cannot elect a
 * replica itself.
 */
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { formatLabelSelector, listAllPods, readPodLabels } from "../../platforms/kubernetes/pods/running-pods";
import type { LastMachines, StoppedServers } from "../../platforms/kubernetes/pods/stopped-servers";
import { findStoppedServers, rememberPodMachines } from "../../platforms/kubernetes/pods/stopped-servers";
import type { Connection } from "../../valkey/connection";
import { withEveryNode } from "../../valkey/connections";
import { selfEntry } from "../../valkey/membership/member-state";
import { readMemberStates } from "../../valkey/membership/members";
import type { CandidateState, Takeover, TakeoverPlan } from "../../valkey/membership/takeover-plan";
import { planTakeovers } from "../../valkey/membership/takeover-plan";
import type { DeploymentNode } from "../../valkey/node";
import { hasPrimaryRole, infoNumber, parseInfo } from "../../valkey/topology/replies";
import { nodeCount } from "../../valkey/topology/placement";
import { formatRanges } from "../../valkey/topology/slots";

/** Time limit for a replica to become a primary, milliseconds. */
const TAKEOVER_MS = 10_000;
const POLL_MS = 100;

/** Option of CLUSTER FAILOVER: `TAKEOVER` needs no votes, `FORCE` needs the votes of a majority of the primaries. */
type TakeoverOption = "TAKEOVER" | "FORCE";

/** A deployment, and the means to reach it. */
export interface TakeoverScene {
  readonly kubernetes: KubernetesClient;
  readonly target: KubernetesReference;
  readonly password: string;
}

/**
 * Reads the machine of each pod.
 * @param former result of an earlier call; a pod that is not scheduled keeps its machine from there
 * @throws Failure when this program has no permission to read pods
 */
export async function readPodMachines(
  kubernetes: KubernetesClient,
  { namespace, statefulSet }: KubernetesReference,
  former: LastMachines,
): Promise<LastMachines> {
  const labels = await readPodLabels(kubernetes, namespace, { statefulSet });
  return rememberPodMachines(former, await listAllPods(kubernetes, namespace, formatLabelSelector(labels)));
}

/**
 * Reads which servers are on machines that are known to be off. Callers must read the pods first. Otherwise a pod could
 * be on a machine that joined after this function listed the machines, and its server would count as stopped.
 * @throws Failure when this program has no permission to list machines
 */
export async function readStoppedServers(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  lastMachines: LastMachines,
): Promise<StoppedServers> {
  const { items } = await kubernetes.call("reading machines", kubernetes.core.listNode());
  return findStoppedServers({ names: serverNames(target), machines: items, lastMachines });
}

function serverNames({ statefulSet, shape }: KubernetesReference): string[] {
  return Array.from({ length: nodeCount(shape) }, (_, index) => `${statefulSet}-${index}`);
}

/**
 * Plans takeovers from the nodes that reply at this moment.
 * @param stopped names of the servers that are known to be off. If it is undefined, the plan assumes that all servers
 * that do not reply are off
 * @returns the plan, and the names of the servers that do not reply
 * @throws Failure when this program has no permission to read pods
 */
export async function planFromNodes(
  { kubernetes, target, password }: TakeoverScene,
  stopped: ReadonlySet<string> | undefined,
): Promise<{ readonly plan: TakeoverPlan; readonly silent: readonly string[] }> {
  const part = await openRunningPart(kubernetes, target, password, stopped);
  return withEveryNode(part, async (attempts) => {
    const reached = new Map(attempts.flatMap(({ node, connection }) => (connection ? [[node, connection]] : [])));
    const replying = new Set([...reached.keys()].map(({ name }) => name));
    const silent = serverNames(target).filter((name) => !replying.has(name));
    return { plan: planTakeovers(await readCandidates(reached), stopped ?? new Set(silent)), silent };
  });
}

/**
 * Makes the replica of a takeover a primary. The function first asks the replica whether it still follows the lost
 * primary, because a shard may elect a replica as soon as there is a majority again.
 * @throws Failure when the replica follows a different primary, or does not become a primary
 */
export async function performTakeover(
  { kubernetes, target, password }: TakeoverScene,
  { replica, primaryId }: Takeover,
  option: TakeoverOption,
  signal: AbortSignal,
): Promise<void> {
  const part = await openRunningPart(kubernetes, target, password);
  await withEveryNode({ ...part, nodes: part.nodes.filter(({ name }) => name === replica) }, async ([attempt]) => {
    const connection = attempt?.connection;
    if (attempt === undefined || connection === undefined) throw new Failure(`${replica} does not reply any more`);
    const [state] = await readCandidates(new Map([[attempt.node, connection]]));
    const isLost = state?.view.unhealthy.some(({ id }) => id === primaryId) === true;
    if (state === undefined || selfEntry(state).primaryId !== primaryId || !isLost || state.isIncomplete)
      throw new Failure(`the state of ${replica} or of its primary has changed, so ${replica} was not promoted`);
    await connection.call("CLUSTER", "FAILOVER", option);
    const isPrimary = async (): Promise<boolean> => hasPrimaryRole(parseInfo(await connection.info("replication")));
    if (!(await holdsInTime(isPrimary, { timeoutMs: TAKEOVER_MS, intervalMs: POLL_MS, signal })))
      throw new Failure(`${replica} did not become a primary within ${TAKEOVER_MS / 1000} s`);
  });
}

export function describeTakeover({ replica, offset, primary, slots }: Takeover): string {
  return `${replica} (offset ${offset}, in place of ${primary} for slots ${formatRanges(slots)})`;
}

async function readCandidates(connections: ReadonlyMap<DeploymentNode, Connection>): Promise<CandidateState[]> {
  const { members, states } = await readMemberStates(connections);
  return Promise.all(
    states.map(async (state, index): Promise<CandidateState> => {
      const info = parseInfo((await members[index]?.connection.info()) ?? "");
      return {
        ...state,
        offset: infoNumber(info, "slave_repl_offset") ?? infoNumber(info, "master_repl_offset") ?? 0,
        replicationId: info.get("master_replid") ?? "",
        isIncomplete: info.get("loading") !== "0" || info.get("master_sync_in_progress") === "1",
      };
    }),
  );
}
