/** Replaces pods whose machines do not come back, by the decision of `replacement.ts`. */
import { once } from "node:events";
import { connect } from "node:net";
import { Failure } from "../../lib/errors";
import { type KubernetesReference, openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { listMachineStates } from "../../platforms/kubernetes/cluster/machines";
import { type PodPlace, deleteLostPod, readPodPlaces } from "../../platforms/kubernetes/cluster/pod-places";
import { nodeCount } from "../../valkey/topology/placement";
import type { MachineMemory, PlaceFacts, ReplacementDecision } from "./replacement";
import { decideReplacement, rememberMachines } from "./replacement";
import { designatedPod } from "../../platforms/kubernetes/access/primary-lead";
import { whyPartLacksData } from "../../valkey/verification/running-part";
import { verify } from "../../valkey/verification/verify";

const CONNECT_MS = 3_000;

export type Replacement = Extract<ReplacementDecision, { kind: "replace" }>;

export class LostMachines {
  #memory: MachineMemory = new Map();

  /** @param afterSeconds time for which a machine must have been gone or not Ready before its pods are replaced */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly target: KubernetesReference,
    private readonly afterSeconds: number,
    private readonly password: () => Promise<string>,
  ) {}

  /** For verifications that cannot reach a server. @param repairs times in the last hour @throws Failure */
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
   * Also deletes claims whose volumes are on the lost machine. To call with the Lease; decides again first, because an
   * update may have changed the deployment before.
   * @throws Failure when the pod must not be replaced any more, or a deletion fails
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
 * Undefined if all lost servers can be replaced. A lost machine may still run the old server, for example behind a
 * broken network, so:
 * - Nothing accepts a connection at its address: if only the kubelet has failed, it must stay.
 * - In a cluster, all running nodes consider it failed, and it owns no slots, so this side has the majority, and an old
 * primary stops accepting writes after the node timeout. The new server gets a new node ID.
 * - In replication mode, the running part has the only primary that is reached, without other replicas, and the
 * majority of the Sentinels, so that the other side cannot promote a replica. Writes to an old primary there are lost
 * in any case, unless `min-replicas-to-write` is set. Without Sentinels, the designated primary is never replaced: the
 * other servers would copy its empty data.
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
