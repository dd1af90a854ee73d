/**
 * Pods that cannot start again after a change of the deployment's zones, because their volumes are in zones in which
 * the pods may not run.
 */
import type { V1Pod } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import { isMachineReady } from "../api/machine-conditions";
import { isPodRunning, resourceName } from "../api/pod-diagnostics";
import type { Labels } from "./running-pods";
import { formatLabelSelector, listAllPods } from "./running-pods";
import type { StatefulSetVolumes } from "../volumes/statefulset-volumes";
import { claimsOfSet, isBound, zonesOfVolumes } from "../volumes/statefulset-volumes";

const ZONE_LABEL = "topology.kubernetes.io/zone";

/** Zones in which the pods of a StatefulSet may run. */
export interface AllowedZones {
  readonly volumes: StatefulSetVolumes;
  /** Labels that select all pods of the StatefulSet and no others. */
  readonly labels: Labels;
  /** Name of the container that runs Valkey. */
  readonly container: string;
  readonly zones: readonly string[];
  /**
   * Whether the deployment got new zones. Until nodes have moved to the new zones, the scheduler starts no pod in a
   * zone that already has more pods than a different zone.
   */
  readonly added: boolean;
}

export interface StrandedPod {
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
export async function strandedPods(
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
export async function replaceStranded(
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
