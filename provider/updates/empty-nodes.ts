/**
 * Repair of nodes that come back without their data during a roll-out. Such a node has no volume, or its former volume
 * is in a zone that is removed from the deployment. The roll-out continues with the next node after the empty node has
 * copied its data again.
 */
import type { V1Pod } from "@kubernetes/client-node";
import { messageOf } from "../../lib/errors";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { readPodLabels } from "../../platforms/kubernetes/pods/running-pods";
import type { RepairStep } from "../../platforms/kubernetes/pods/await-rollout";
import { isPodReady } from "../../platforms/kubernetes/pods/await-rollout";
import type { StrandedPod } from "../../platforms/kubernetes/pods/stranded-pods";
import { replaceStranded, strandedPods } from "../../platforms/kubernetes/pods/stranded-pods";
import { withConnections } from "../../valkey/connections";
import { form } from "../../valkey/formation/form";
import { readMemberStates } from "../../valkey/membership/members";
import { holdsAllData } from "../../valkey/resize/all-data";
import { returnedEmpty } from "../../valkey/membership/returned-empty";
import { listNames } from "../../valkey/verification/assertion";
import type { WaitOptions } from "../../lib/progress";

/** Shortest time between two checks, milliseconds. */
const LOOK_MS = 2_000;

export interface EmptyNodesPlan {
  readonly target: KubernetesReference;
  readonly password: string;
  /** Name of the StatefulSet's template of claims. */
  readonly template: string;
  /** Zones of the deployment before the change. */
  readonly formerZones: readonly string[];
}

/**
 * Deletes volumes in zones that are removed from the deployment, and adds nodes that came back empty to the cluster
 * again. Both happen only while the other nodes have all data.
 */
export class EmptyNodeRepair {
  readonly #added: boolean;
  readonly #moves: boolean;
  #nextLook = Date.now() + LOOK_MS;
  #waitsFor: string | undefined;

  /** @param say function that is called with a message for each node that moves */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly plan: EmptyNodesPlan,
    private readonly options: WaitOptions,
    private readonly say: (event: string) => void,
  ) {
    const { formerZones, target } = plan;
    this.#added = target.zones.some((zone) => !formerZones.includes(zone));
    this.#moves = this.#added || formerZones.some((zone) => !target.zones.includes(zone));
  }

  readonly step: RepairStep = async (pods, run) => {
    if (Date.now() < this.#nextLook) return this.#waitsFor;
    try {
      const stranded = this.#moves ? await this.#replaceStranded() : undefined;
      this.#waitsFor = stranded ?? (run ? await this.#joinEmpty(pods) : undefined);
    } catch (error) {
      // Nodes that are stopping or starting do not answer. The next check finds them.
      this.options.signal.throwIfAborted();
      this.#waitsFor = messageOf(error);
    }
    this.#nextLook = Date.now() + LOOK_MS;
    return this.#waitsFor;
  };

  /**
   * Replaces the volumes of nodes that must move.
   * @returns reason why nodes cannot move yet; undefined if no node has to move, or if all nodes that must move have
   *   started to move
   */
  async #replaceStranded(): Promise<string | undefined> {
    const { namespace, statefulSet, container, zones, name } = this.plan.target;
    const volumes = { namespace, statefulSet, template: this.plan.template };
    const labels = await readPodLabels(this.kubernetes, namespace, { statefulSet });
    const stranded = await strandedPods(this.kubernetes, { volumes, labels, container, zones, added: this.#added });
    const [first] = stranded;
    if (first === undefined) return undefined;
    const { zone } = first;
    const why = zones.includes(zone)
      ? `zone ${zone} has more nodes than other zones`
      : `zone ${zone} is no longer a zone of ${name}`;
    const event = `${listNames(stranded.map(({ pod }) => pod))} cannot start: ${why}`;
    if (!(await this.#othersHoldAllData(stranded)))
      return `${event}, and the running nodes do not have all data of the deployment. Put the former zones back, or wait for a failover`;
    for (const each of stranded) await replaceStranded(this.kubernetes, volumes, each);
    this.say(`${event}; new pods start empty in a different zone, and copy their data from other nodes`);
    return undefined;
  }

  async #othersHoldAllData(stranded: readonly StrandedPod[]): Promise<boolean> {
    const left = new Set(stranded.map(({ pod }) => pod));
    const part = await openRunningPart(this.kubernetes, this.plan.target, this.plan.password);
    return holdsAllData({ ...part, nodes: part.nodes.filter(({ name }) => !left.has(name)) });
  }

  /**
   * Adds empty nodes to the cluster.
   * @returns the nodes that cannot join yet, with the reason; undefined if all empty nodes could join
   */
  async #joinEmpty(pods: readonly V1Pod[]): Promise<string | undefined> {
    const { target, password } = this.plan;
    if (target.mode !== "cluster" || pods.every(isPodReady)) return undefined;
    const deployment = await openRunningPart(this.kubernetes, target, password);
    const { states } = await withConnections(deployment, readMemberStates);
    const empty = listNames(returnedEmpty(states));
    if (empty === "") return undefined;
    try {
      await form(deployment, target.shape, this.options);
      return undefined;
    } catch (error) {
      this.options.signal.throwIfAborted();
      // The other nodes may not have agreed yet that the former node failed. That takes the node timeout.
      return `${empty}: came back without data and cannot join yet (${messageOf(error)})`;
    }
  }
}
