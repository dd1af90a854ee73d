/** Takeovers of shards whose primaries are lost for good, and that cannot elect a replica themselves. */
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { formatLabelSelector, listAllPods, readPodLabels } from "../../platforms/kubernetes/pods/running-pods";
import type { StoppedServers } from "../../platforms/kubernetes/pods/stopped-servers";
import { findStoppedServers } from "../../platforms/kubernetes/pods/stopped-servers";
import type { Connection } from "../../valkey/connection";
import { withEveryNode } from "../../valkey/connections";
import { readMemberStates } from "../../valkey/membership/members";
import type { CandidateState, Takeover, TakeoverPlan } from "../../valkey/membership/takeover-plan";
import { planTakeovers } from "../../valkey/membership/takeover-plan";
import type { DeploymentNode } from "../../valkey/node";
import { hasPrimaryRole, infoNumber, parseInfo } from "../../valkey/topology/info";
import { formatRanges } from "../../valkey/topology/slots";
import { nodeCount } from "../../valkey/topology/placement";

/** Time limit for a replica to become a primary, milliseconds. */
const TAKEOVER_MS = 10_000;
const POLL_MS = 100;

type TakeoverCommand = readonly ["CLUSTER", "FAILOVER", "TAKEOVER" | "FORCE"];

/** A deployment, the means to reach it, and the servers of which it is known that they do not run. */
export interface TakeoverScene {
  readonly kubernetes: KubernetesClient;
  readonly target: KubernetesReference;
  readonly password: string;
  /**
   * Names of the pods whose servers certainly do not run. Undefined for a plan that shows what could be done if none of
   * the servers that do not reply runs; such a plan must not be performed.
   */
  readonly stopped: ReadonlySet<string> | undefined;
}

/** Permission for takeovers, and the end of waiting. */
export interface TakeoverOptions {
  readonly mayPerform: (plan: TakeoverPlan) => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** Reads which servers of a deployment certainly do not run. @throws Failure when machines or pods may not be read */
export async function readStoppedServers(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
): Promise<StoppedServers> {
  const { namespace, statefulSet, container } = target;
  const labels = await readPodLabels(kubernetes, namespace, { statefulSet });
  const [pods, machines] = await Promise.all([
    listAllPods(kubernetes, namespace, formatLabelSelector(labels)),
    kubernetes.call("reading machines", kubernetes.core.listNode()),
  ]);
  return findStoppedServers({ names: serverNames(target), pods, machines: machines.items, container });
}

function serverNames({ statefulSet, shape }: KubernetesReference): string[] {
  return Array.from({ length: nodeCount(shape) }, (_, index) => `${statefulSet}-${index}`);
}

/**
 * Plans takeovers from the nodes that reply at this moment, and performs them one after the other, so that each new
 * primary gets its own epoch.
 * @param mayPerform function that is called with a plan that has takeovers, before the first one
 * @param report function that is called with the facts of each takeover
 * @returns the plan, and whether it was performed
 * @throws Failure when pods may not be read, or when a replica does not become a primary
 */
export async function takeOverLostShards(
  { kubernetes, target, password, stopped }: TakeoverScene,
  { mayPerform, signal, report }: TakeoverOptions,
): Promise<{ readonly plan: TakeoverPlan; readonly isPerformed: boolean }> {
  const part = await openRunningPart(kubernetes, target, password);
  const nodes = part.nodes.filter(({ name }) => stopped?.has(name) !== true);
  return withEveryNode({ ...part, nodes }, async (attempts) => {
    const reached = new Map(attempts.flatMap(({ node, connection }) => (connection ? [[node, connection]] : [])));
    const byName = new Map([...reached].map(([{ name }, connection]) => [name, connection]));
    const silent = serverNames(target).filter((name) => !byName.has(name));
    const plan = planTakeovers(await readCandidates(reached), stopped ?? new Set(silent));
    if (plan.takeovers.length === 0 || !(await mayPerform(plan))) return { plan, isPerformed: false };
    for (const [index, takeover] of plan.takeovers.entries()) {
      signal.throwIfAborted();
      report(describeTakeover(takeover));
      const connection = byName.get(takeover.replica);
      if (connection === undefined) throw new Error(`no connection to ${takeover.replica}`);
      await makePrimary(takeover.replica, connection, takeoverCommand(plan, index), signal);
    }
    return { plan, isPerformed: true };
  });
}

/** The command for the replica of a takeover, in words. @param index place of the takeover in the plan */
export function takeoverCommand({ withoutVotes }: TakeoverPlan, index: number): TakeoverCommand {
  return ["CLUSTER", "FAILOVER", index < withoutVotes ? "TAKEOVER" : "FORCE"];
}

async function makePrimary(
  name: string,
  connection: Connection,
  command: TakeoverCommand,
  signal: AbortSignal,
): Promise<void> {
  const isPrimary = async (): Promise<boolean> => hasPrimaryRole(parseInfo(await connection.info("replication")));
  try {
    await connection.call(...command);
  } catch (error) {
    // A takeover before this one may have made a majority again, which has elected this replica.
    if (!(await isPrimary())) throw error;
  }
  if (!(await holdsInTime(isPrimary, { timeoutMs: TAKEOVER_MS, intervalMs: POLL_MS, signal })))
    throw new Failure(`${name} did not become a primary within ${TAKEOVER_MS / 1000} s`);
}

export function describeTakeover({ replica, offset, primary, slots }: Takeover): string {
  return `${replica} (offset ${offset}) takes over slots ${formatRanges(slots)} from ${primary}`;
}

async function readCandidates(connections: ReadonlyMap<DeploymentNode, Connection>): Promise<CandidateState[]> {
  const { members, states } = await readMemberStates(connections);
  return Promise.all(
    states.map(async (state, index): Promise<CandidateState> => {
      const info = parseInfo((await members[index]?.connection.info()) ?? "");
      return {
        ...state,
        offset: infoNumber(info, "slave_repl_offset") ?? infoNumber(info, "master_repl_offset") ?? 0,
        isIncomplete: info.get("loading") !== "0" || info.get("master_sync_in_progress") === "1",
      };
    }),
  );
}
