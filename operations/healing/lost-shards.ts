/**
 * Shards that lost their primary and cannot elect a replica: with `onLostMajority: takeover`, a replica takes over;
 * otherwise the log gets the commands for it.
 */
import { type KubernetesReference, openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { EventText } from "../../platforms/kubernetes/api/events";
import {
  type LastMachines,
  type StoppedServers,
  findStoppedServers,
  rememberPodMachines,
} from "../../platforms/kubernetes/pods/stopped-servers";
import {
  type TakeoverPlan,
  type CandidateState,
  type Takeover,
  planTakeovers,
} from "../../valkey/membership/takeover-plan";
import { rowOf } from "../../valkey/verification/assertions";
import type { Look } from "../inspection/look";
import type { OnLostMajority } from "../../model/deployment";
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { formatLabelSelector, listAllPods, readPodLabels } from "../../platforms/kubernetes/pods/running-pods";
import type { Connection } from "../../valkey/connection";
import { withEveryNode } from "../../valkey/connections";
import { selfEntry } from "../../valkey/membership/member-state";
import { readMemberStates } from "../../valkey/membership/members";
import type { DeploymentNode } from "../../valkey/node";
import { hasPrimaryRole, infoNumber, parseInfo } from "../../valkey/topology/replies";
import { nodeCount } from "../../valkey/topology/placement";
import { formatRanges } from "../../valkey/topology/slots";

/** Time that an election has before the controller acts, as a multiple of the node timeout. */
const ELECTION_TIMEOUTS = 4;
const DEFAULT_NODE_TIMEOUT_MS = 15_000;

interface LostShardsContext {
  readonly kubernetes: KubernetesClient;
  readonly target: KubernetesReference;
  readonly reaction: OnLostMajority;
  readonly log: (line: string) => void;
  readonly tell: (event: EventText) => Promise<void>;
  /** @returns false if the work was not done, because another process holds the Lease */
  readonly withLease: (signal: AbortSignal, work: (held: AbortSignal) => Promise<void>) => Promise<boolean>;
}

export class LostShards {
  #machines: LastMachines = new Map();
  /** Lost primaries, and the time since which exactly these primaries are lost, milliseconds of the monotonic clock. */
  #lost: { readonly names: string; readonly since: number } | undefined;
  /** The last reasons and advice, so that each text is reported only once. */
  #said = "";

  constructor(private readonly context: LostShardsContext) {}

  /** @throws Failure when pods, machines or nodes cannot be read, or a takeover fails */
  async onLook(look: Look, password: string, signal: AbortSignal): Promise<void> {
    const { kubernetes, target, reaction } = this.context;
    if (target.mode !== "cluster") return;
    if (reaction === "takeover") this.#machines = await readPodMachines(kubernetes, target, this.#machines);
    if (look.pass || !look.assertions.some(({ id, holds }) => !holds && rowOf(id)?.lostShard)) {
      this.#lost = undefined;
      this.#said = "";
      return;
    }
    const scene = { kubernetes, target, password };
    await (reaction === "takeover" ? this.#takeOver(scene, signal) : this.#advise(scene));
  }

  async #takeOver(scene: TakeoverScene, signal: AbortSignal): Promise<void> {
    const { plan, doubts } = await this.#plan(scene);
    // Refusals are not reported before an election had its time. Until then, Kubernetes may notice that a machine is
    // gone, or the nodes may recover.
    const refusals = this.#hasWaited(plan) && plan.refusals.length > 0 ? [...plan.refusals, ...doubts] : [];
    await this.#say(refusals.map((why) => `no replica takes over: ${why}`));
    if (plan.takeovers.length === 0 || !this.#mayPerform(plan)) return;
    await this.context.withLease(signal, (held) => this.#perform(scene, held));
  }

  /** Plans again before each takeover, because each changes the cluster. */
  async #perform(scene: TakeoverScene, signal: AbortSignal): Promise<void> {
    const { target, log, tell } = this.context;
    for (let count = 0; count < target.shape.primaries; count++) {
      signal.throwIfAborted();
      this.#machines = await readPodMachines(scene.kubernetes, target, this.#machines);
      const { plan, stopped } = await this.#plan(scene);
      const [next] = plan.takeovers;
      if (next === undefined || !this.#mayPerform(plan)) return;
      const text = `${describeTakeover(next)} because ${stopped.get(next.primary) ?? ""}`;
      log(`promoting ${text}`);
      await performTakeover(scene, next, plan.withoutVotes > 0 ? "TAKEOVER" : "FORCE", signal);
      log(`promoted ${text}`);
      await tell({ reason: "TookOver", message: `promoted ${text}`, isWarning: true });
    }
  }

  async #plan(scene: TakeoverScene): Promise<{
    readonly plan: TakeoverPlan;
    readonly stopped: ReadonlyMap<string, string>;
    readonly doubts: readonly string[];
  }> {
    const { stopped, doubts } = await readStoppedServers(scene.kubernetes, scene.target, this.#machines);
    const { plan } = await planFromNodes(scene, new Set(stopped.keys()));
    return { plan, stopped, doubts };
  }

  /** Whether a takeover may begin: the nodes cannot elect a replica, or have had enough time to elect one. */
  #mayPerform(plan: TakeoverPlan): boolean {
    return plan.withoutVotes > 0 || this.#hasWaited(plan);
  }

  /** Whether the same primaries have been lost for as long as an election may take. */
  #hasWaited({ lost }: TakeoverPlan): boolean {
    const names = lost.join(", ");
    if (this.#lost?.names !== names) this.#lost = { names, since: performance.now() };
    const timeout = Number(this.context.target.directives["cluster-node-timeout"] ?? DEFAULT_NODE_TIMEOUT_MS);
    return performance.now() - this.#lost.since >= ELECTION_TIMEOUTS * timeout;
  }

  /** A person may run them if the servers that do not reply are off. */
  async #advise(scene: TakeoverScene): Promise<void> {
    const { plan, silent } = await planFromNodes(scene, undefined);
    const reasons = plan.refusals.map((why) => `no replica can take over: ${why}`);
    const lines = [...adviceFor(plan, silent, this.context.target), ...reasons];
    await this.#say(this.#hasWaited(plan) ? lines : []);
  }

  async #say(lines: readonly string[]): Promise<void> {
    const text = lines.join("\n");
    if (text === this.#said) return;
    this.#said = text;
    for (const message of lines) {
      this.context.log(message);
      await this.context.tell({ reason: "ShardsLost", message, isWarning: true });
    }
  }
}

/** A message with a command for each shard, in the order in which a person should run the commands. */
function adviceFor(
  { takeovers, withoutVotes }: TakeoverPlan,
  silent: readonly string[],
  { namespace, container }: KubernetesReference,
): string[] {
  return takeovers.map((takeover, index) => {
    const command = `CLUSTER FAILOVER ${index < withoutVotes ? "TAKEOVER" : "FORCE"}`;
    const script = `. /valkey/scripts/node.sh; echo "${command}" | tell localhost 5`;
    const run = `kubectl -n ${namespace} exec ${takeover.replica} -c ${container} -- sh -c '${script}'`;
    const order = takeovers.length === 1 ? "" : `${index + 1} of ${takeovers.length}: `;
    return `${order}if the servers ${silent.join(", ")} are off for good, promote ${describeTakeover(takeover)}. Run: ${run}`;
  });
}

const TAKEOVER_MS = 10_000;
const POLL_MS = 100;

/** Option of CLUSTER FAILOVER: `TAKEOVER` needs no votes, `FORCE` needs the votes of a majority of the primaries. */
type TakeoverOption = "TAKEOVER" | "FORCE";

interface TakeoverScene {
  readonly kubernetes: KubernetesClient;
  readonly target: KubernetesReference;
  readonly password: string;
}

/** @param former an earlier result; a pod that is not scheduled keeps its machine @throws Failure */
async function readPodMachines(
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
async function readStoppedServers(
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
async function planFromNodes(
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
async function performTakeover(
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

function describeTakeover({ replica, offset, primary, slots }: Takeover): string {
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
