/** Takeovers are for shards that have lost their primary for good, and cannot elect a replica themselves. */
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { type KubernetesReference, openRunningPart } from "../../platforms/deployment-reference";
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

const TAKEOVER_MS = 10_000;
const POLL_MS = 100;

/** Option of CLUSTER FAILOVER: `TAKEOVER` needs no votes, `FORCE` needs the votes of a majority of the primaries. */
type TakeoverOption = "TAKEOVER" | "FORCE";

export interface TakeoverScene {
  readonly kubernetes: KubernetesClient;
  readonly target: KubernetesReference;
  readonly password: string;
}

/** @param former an earlier result; a pod that is not scheduled keeps its machine @throws Failure */
export async function readPodMachines(
  kubernetes: KubernetesClient,
  { namespace, statefulSet }: KubernetesReference,
  former: LastMachines,
): Promise<LastMachines> {
  const labels = await readPodLabels(kubernetes, namespace, { statefulSet });
  return rememberPodMachines(former, await listAllPods(kubernetes, namespace, formatLabelSelector(labels)));
}

/**
 * Read the pods first: a pod could be on a machine that joined after this list, and its server would count as stopped.
 * @throws Failure without the permission to list machines
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
 * @param stopped if undefined, all servers that do not reply are assumed to be off
 * @returns the plan, and the silent servers
 * @throws Failure without the permission to read pods
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

/** Only if it still follows the lost primary: with a majority, a shard may elect a replica. @throws Failure */
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
