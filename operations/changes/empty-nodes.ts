/** Empty nodes have no volume, or one in a removed zone. The roll-out waits until they have copied their data. */
import type { V1Pod } from "@kubernetes/client-node";
import { messageOf } from "../../lib/errors";
import { type KubernetesReference, openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { Labels } from "../../platforms/kubernetes/pods/running-pods";
import { readPodLabels, formatLabelSelector, listAllPods } from "../../platforms/kubernetes/pods/running-pods";
import { type RepairStep, isPodReady } from "../../platforms/kubernetes/pods/await-rollout";
import { withConnections, withEveryNode } from "../../valkey/connections";
import { form } from "../../valkey/formation/form";
import { readMemberStates } from "../../valkey/membership/members";
import { returnedEmpty } from "../../valkey/membership/returned-empty";
import { listNames } from "../../valkey/verification/violations";
import type { WaitOptions } from "../../lib/progress";
import type { Connection } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import { hasPrimaryRole, parseInfo } from "../../valkey/topology/replies";
import { ownAllSlots } from "../../valkey/membership/member-state";
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

/** Also deletes volumes in removed zones. Only while the other nodes have all data. */
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

  /** @returns why nodes cannot move yet; undefined if none has to, or all have started */
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

  /** @returns the nodes that cannot join yet, with the reason */
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

/** In cluster mode they own all slots; otherwise one is a primary that has loaded its data. */
function holdsAllData(deployment: Deployment): Promise<boolean> {
  return withEveryNode(deployment, async (attempts) => {
    const reached = new Map(attempts.flatMap(({ node, connection }) => (connection ? [[node, connection]] : [])));
    if (deployment.mode !== "cluster") return hasPrimary([...reached.values()]);
    return ownAllSlots((await readMemberStates(reached)).states);
  });
}

/** Replicas copy the data of this primary. */
async function hasPrimary(connections: readonly Connection[]): Promise<boolean> {
  const facts = await Promise.all(connections.map(async (connection) => parseInfo(await connection.info())));
  return facts.some((info) => hasPrimaryRole(info) && info.get("loading") === "0");
}

interface AllowedZones {
  readonly volumes: StatefulSetVolumes;
  readonly labels: Labels;
  readonly container: string;
  readonly zones: readonly string[];
  /** Until nodes have moved to new zones, the scheduler starts no pod in a zone that has more pods than another. */
  readonly added: boolean;
}

interface StrandedPod {
  readonly pod: string;
  readonly zone: string;
  /** Undefined if the pod's machine is gone: its volume is deleted later, with the pod that replaces it. */
  readonly claim: string | undefined;
}

/** Their volume's zone is not allowed or has more pods than others; or the machine is lost, in such a zone. */
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

/** The StatefulSet creates both again elsewhere. If the machine is gone, the volume goes later, with the next pod. */
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
