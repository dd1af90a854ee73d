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
import type { Labels } from "../../platforms/kubernetes/pods/running-pods";
import { readPodLabels, formatLabelSelector, listAllPods } from "../../platforms/kubernetes/pods/running-pods";
import type { RepairStep } from "../../platforms/kubernetes/pods/await-rollout";
import { isPodReady } from "../../platforms/kubernetes/pods/await-rollout";
import { withConnections, withEveryNode } from "../../valkey/connections";
import { form } from "../../valkey/formation/form";
import { readMemberStates } from "../../valkey/membership/members";
import { returnedEmpty } from "../../valkey/membership/returned-empty";
import { listNames } from "../../valkey/verification/assertion";
import type { WaitOptions } from "../../lib/progress";
import type { Connection } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import { hasPrimaryRole, parseInfo } from "../../valkey/topology/replies";
import { ownAllSlots } from "../../valkey/membership/participation";
import { isMachineReady } from "../../platforms/kubernetes/api/machine-conditions";
import { isPodRunning, resourceName } from "../../platforms/kubernetes/api/pod-diagnostics";
import type { StatefulSetVolumes } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { claimsOfSet, isBound, zonesOfVolumes } from "../../platforms/kubernetes/volumes/statefulset-volumes";

const ZONE_LABEL = "topology.kubernetes.io/zone";

/** Shortest time between two checks, milliseconds. */
const LOOK_MS = 2_000;

interface EmptyNodesPlan {
  readonly target: KubernetesReference;
  readonly password: string;
  readonly template: string;
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

/**
 * Whether the nodes that reply have all data. In cluster mode, these nodes must own all slots. In replication mode, one
 * of these nodes must be a primary that has loaded its data.
 */
function holdsAllData(deployment: Deployment): Promise<boolean> {
  return withEveryNode(deployment, async (attempts) => {
    const reached = new Map(attempts.flatMap(({ node, connection }) => (connection ? [[node, connection]] : [])));
    if (deployment.mode !== "cluster") return hasPrimary([...reached.values()]);
    return ownAllSlots((await readMemberStates(reached)).states);
  });
}

/** Whether one of the nodes is a primary that has loaded its data. Replicas copy the data of this primary. */
async function hasPrimary(connections: readonly Connection[]): Promise<boolean> {
  const facts = await Promise.all(connections.map(async (connection) => parseInfo(await connection.info())));
  return facts.some((info) => hasPrimaryRole(info) && info.get("loading") === "0");
}

interface AllowedZones {
  readonly volumes: StatefulSetVolumes;
  readonly labels: Labels;
  readonly container: string;
  readonly zones: readonly string[];
  /**
   * Whether the deployment got new zones. Until nodes have moved to the new zones, the scheduler starts no pod in a
   * zone that already has more pods than a different zone.
   */
  readonly added: boolean;
}

interface StrandedPod {
  readonly pod: string;
  readonly zone: string;
  /**
   * Claim of the pod's volume. Undefined for a pod whose machine no longer exists. The volume of such a pod is deleted
   * later, with the pod that replaces it.
   */
  readonly claim: string | undefined;
}

/**
 * Finds pods that cannot start in the zone of their volume, because this zone is not allowed or already has more pods
 * than other zones. Also finds pods on lost machines in zones that are not allowed.
 */
async function strandedPods(
  kubernetes: KubernetesClient,
  { volumes, labels, container, zones, added }: AllowedZones,
): Promise<StrandedPod[]> {
  const { namespace, statefulSet, template } = volumes;
  const [pods, claims, machines] = await Promise.all([
    listAllPods(kubernetes, namespace, formatLabelSelector(labels)),
    claimsOfSet(kubernetes, volumes),
    kubernetes.call("reading machines", kubernetes.core.listNode()),
  ]);
  const zoneOf = await zonesOfVolumes(kubernetes, claims.filter(isBound));
  const lost = new Map(
    machines.items
      .filter((machine) => !isMachineReady(machine))
      .map((machine) => [resourceName(machine), machine.metadata?.labels?.[ZONE_LABEL]]),
  );
  const claimOf = (pod: V1Pod): string =>
    `${template}-${statefulSet}-${resourceName(pod).slice(statefulSet.length + 1)}`;
  const placed = pods.filter(({ spec }) => spec?.nodeName !== undefined);
  const count = (zone: string): number => placed.filter((pod) => zoneOf.get(claimOf(pod)) === zone).length;
  const least = Math.min(...zones.map(count));
  return pods.flatMap((pod): StrandedPod[] => {
    const name = resourceName(pod);
    const lostZone = lost.get(pod.spec?.nodeName ?? "");
    if (lostZone !== undefined)
      return zones.includes(lostZone) ? [] : [{ pod: name, zone: lostZone, claim: undefined }];
    if (isPodRunning(pod, container) || pod.metadata?.deletionTimestamp !== undefined) return [];
    const claim = claimOf(pod);
    const zone = zoneOf.get(claim);
    if (zone === undefined) return [];
    const isTooFull = added && pod.spec?.nodeName === undefined && count(zone) > least;
    return zones.includes(zone) && !isTooFull ? [] : [{ pod: name, zone, claim }];
  });
}

/**
 * Deletes a pod with its volume. The StatefulSet creates both again in a zone in which they may run. A pod whose
 * machine is gone is deleted at once. Its volume is deleted later, with the pod that replaces it.
 */
async function replaceStranded(
  kubernetes: KubernetesClient,
  { namespace }: StatefulSetVolumes,
  { pod, claim }: StrandedPod,
): Promise<void> {
  if (claim !== undefined)
    await kubernetes.find(
      `deleting volume claim ${claim} of namespace ${namespace}`,
      kubernetes.core.deleteNamespacedPersistentVolumeClaim({ namespace, name: claim }),
    );
  await kubernetes.find(
    `deleting pod ${pod} of namespace ${namespace}`,
    kubernetes.core.deleteNamespacedPod({
      namespace,
      name: pod,
      ...(claim === undefined ? { gracePeriodSeconds: 0 } : {}),
    }),
  );
}
