/**
 * Replaces pods whose machines do not come back. It reads the facts, lets `replacement.ts` decide, and deletes one pod.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { Failure } from "../lib/errors";
import type { KubernetesReference } from "../platforms/deployment-reference";
import { openRunningPart } from "../platforms/deployment-reference";
import type { KubernetesClient } from "../platforms/kubernetes/api/client";
import { listMachineStates } from "../platforms/kubernetes/cluster/machines";
import type { PodPlace } from "../platforms/kubernetes/cluster/pod-places";
import { deleteLostPod, readPodPlaces } from "../platforms/kubernetes/cluster/pod-places";
import { nodeCount } from "../valkey/topology/placement";
import type { MachineMemory, PlaceFacts, ReplacementDecision } from "./replacement";
import { decideReplacement, rememberMachines } from "./replacement";
import { designatedPod } from "../platforms/kubernetes/access/primary-lead";
import { whyPartLacksData } from "../valkey/verification/running-part";
import { verify } from "../valkey/verification/verify";

/** Time limit for a connection to a lost pod, milliseconds. */
const CONNECT_MS = 3_000;

/** Decision to replace a pod. */
export type Replacement = Extract<ReplacementDecision, { kind: "replace" }>;

export class LostMachines {
  #memory: MachineMemory = new Map();

  /**
   * @param afterSeconds time for which a machine must have been gone or not Ready before its pods are replaced, seconds
   * @param password reads the present password
   */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly target: KubernetesReference,
    private readonly afterSeconds: number,
    private readonly password: () => Promise<string>,
  ) {}

  /**
   * Decides whether a pod is replaced now. Call this method after each verification that cannot reach a server.
   * @param repairs times of the repairs of the last hour
   * @throws Failure when Kubernetes or the running servers do not answer
   */
  async decide(repairs: readonly number[]): Promise<ReplacementDecision> {
    const { kubernetes, target } = this;
    const facts = await this.#read();
    const now = performance.now();
    this.#memory = rememberMachines(this.#memory, facts, now);
    const decision = decideReplacement(this.#memory, facts, { now, afterSeconds: this.afterSeconds, repairs });
    if (decision.kind !== "replace") return decision;
    const { servers, sentinels } = decision.lost;
    const alive = decision.role === "Sentinel" && (await firstThatAnswers(sentinels, target.sentinel?.port ?? 0));
    const why = alive || (await whyNotReplace(kubernetes, target, await this.password(), servers));
    return why === undefined ? decision : { kind: "wait", why: `${decision.facts}, but ${why}` };
  }

  /**
   * Deletes the pod, and its volume claims if their volumes are on the lost machine. Call this method while this
   * process holds the Lease. The method decides again first, because an update may have changed the deployment before
   * this process got the Lease.
   * @param repairs the times that were passed to `decide`
   * @throws Failure when the pod must not be replaced any more, or a deletion fails; the signal's reason if the signal
   * is aborted
   */
  async replace({ pod }: Replacement, repairs: readonly number[], signal: AbortSignal): Promise<void> {
    const again = await this.decide(repairs);
    if (again.kind !== "replace" || again.pod.uid !== pod.uid)
      throw new Failure(again.kind === "wait" ? again.why : `the deployment has changed since ${pod.name} was chosen`);
    signal.throwIfAborted();
    await deleteLostPod(this.kubernetes, this.target.namespace, again.pod, again.claims);
  }

  async #read(): Promise<PlaceFacts> {
    const { kubernetes, target } = this;
    const { namespace, statefulSet, sentinel, shape, mode, directives } = target;
    const machines = await listMachineStates(kubernetes);
    const [servers, sentinels] = await Promise.all([
      readPodPlaces(kubernetes, { namespace, statefulSet }, machines),
      sentinel === undefined
        ? []
        : readPodPlaces(kubernetes, { namespace, statefulSet: sentinel.statefulSet }, machines),
    ]);
    return {
      machines,
      servers,
      sentinels,
      wanted: { servers: nodeCount(shape), sentinels: sentinel?.settings.count ?? 0 },
      outlivesDisk: mode === "cluster" && directives["cluster-config-save-behavior"] === "best-effort",
    };
  }
}

/**
 * Reason why data may be lost with the lost pods, or why one of them may still work; undefined if all lost servers can
 * be replaced.
 *
 * The machine of a lost pod may still run the old server, for example behind a broken network. These checks make sure
 * that nothing more is lost when the pod is replaced:
 *
 * - Nothing accepts a connection at the address of the old server. If only the kubelet has failed, the server still
 *   replies, and must stay.
 * - In a cluster, all running nodes consider the old node failed, and it owns no slots. A node counts as failed only if
 *   a majority of the primaries could not reach it, and a replica can only take over with the votes of a majority. So
 *   this side has the majority. An old primary on the other side stops accepting writes after the node timeout. The new
 *   server starts empty and therefore with a new node ID, so no two nodes have the same ID. When the network is back,
 *   the others no longer know the old ID, or know that its slots have a new owner with a higher epoch.
 * - In replication mode, the running part has the only primary that this process reaches, and this primary lists no
 *   replicas except those of the running part. With Sentinels, the majority of them must be ready on this side, so that
 *   the other side cannot promote a replica. An old primary on the other side keeps accepting writes there, unless
 *   `min-replicas-to-write` is set. These writes are lost as soon as the Sentinels turn it into a replica, whether or
 *   not its pod is replaced. Without Sentinels, no server takes over from the designated primary. If it started empty,
 *   the other servers would replace their data with its empty data. So its pod is never replaced.
 *
 * @param lost pods of servers on lost machines
 */
async function whyNotReplace(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string,
  lost: readonly PodPlace[],
): Promise<string | undefined> {
  const { namespace, mode, sentinel, lead, port, shape } = target;
  const names = new Set(lost.map(({ name }) => name));
  if (mode === "replication" && sentinel === undefined) {
    const designated = lead && (await designatedPod(kubernetes, { namespace, lead }));
    if (designated === undefined) return "it is unknown which pod is the designated primary";
    if (names.has(designated))
      return `${designated} is the designated primary, and without Sentinels no replica takes over from it`;
  }
  const alive = await firstThatAnswers(lost, port);
  if (alive !== undefined) return alive;
  const part = await openRunningPart(kubernetes, target, password, names);
  // The expected number of replicas is left out, so that verification judges only the servers that run.
  const { facts } = await verify({ ...part, shape: { primaries: shape.primaries } }, ["settings", "zones", "writes"]);
  return whyPartLacksData(facts);
}

async function firstThatAnswers(lost: readonly PodPlace[], port: number): Promise<string | undefined> {
  const accepts = await Promise.all(lost.map(({ address }) => acceptsConnections(address, port)));
  const alive = lost.find((_, index) => accepts[index] === true);
  return alive && `${alive.name} still accepts connections, although its machine is not Ready`;
}

async function acceptsConnections(host: string | undefined, port: number): Promise<boolean> {
  if (host === undefined) return false;
  const socket = connect({ host, port });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
