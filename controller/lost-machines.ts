/**
 * Replaces pods whose machines do not come back. It reads the facts, lets `replacement.ts` decide, and deletes one pod.
 */
import { Failure } from "../lib/errors";
import type { KubernetesReference } from "../platforms/deployment-reference";
import type { KubernetesClient } from "../platforms/kubernetes/api/client";
import { listMachineStates } from "../platforms/kubernetes/cluster/machine-states";
import { deleteLostPod, readPodPlaces } from "../platforms/kubernetes/cluster/pod-places";
import { firstThatAnswers, whyNotReplace } from "../provider/updates/lost-pods";
import { nodeCount } from "../valkey/topology/placement";
import type { MachineMemory, PlaceFacts, ReplacementDecision } from "./replacement";
import { decideReplacement, rememberMachines } from "./replacement";

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
