import type { V1Pod, V1PersistentVolume } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import { resourceName } from "../api/pod-diagnostics";
import type { MachineState } from "./machines";
import { isOrdinalOf, type StatefulSetName } from "../volumes/statefulset-volumes";
import { listAllPods } from "../pods/running-pods";
import { isPodReady } from "../pods/await-rollout";
import type { Plain } from "../api/plain";

/** Such as `kubernetes.io/hostname`. Labels of zones never tie a volume to a machine, even if a zone has only one. */
const MACHINE_LABEL = /\/(hostname|node|nodename|node-name)$/i;
/** Drivers that attach nothing do not set it. */
const ATTACHER = /^external-attacher\//;
const ONE_MACHINE_MODES: ReadonlySet<string> = new Set(["ReadWriteOnce", "ReadWriteOncePod"]);

export interface PlacedClaim {
  readonly name: string;
  readonly uid: string;
  readonly tie: VolumeTie;
}

export interface PodPlace {
  readonly name: string;
  readonly uid: string;
  /** For a pod that is not scheduled, the only machine that can use its volume, if known. */
  readonly machine: string | undefined;
  readonly address: string | undefined;
  readonly isReady: boolean;
  /** Empty if the pod is ready, because only other pods may be replaced. */
  readonly claims: readonly PlacedClaim[];
}

/** In the order of ordinals, including pods that are being deleted. @throws Failure without the permission */
export async function readPodPlaces(
  kubernetes: KubernetesClient,
  { namespace, statefulSet }: StatefulSetName,
  machines: readonly MachineState[],
): Promise<PodPlace[]> {
  const pods = (await listAllPods(kubernetes, namespace, "")).filter((pod) =>
    isOrdinalOf(resourceName(pod), statefulSet),
  );
  return Promise.all(
    pods.map(async (pod): Promise<PodPlace> => {
      const { metadata, spec, status } = pod;
      const isReady = isPodReady(pod) && metadata?.deletionTimestamp === undefined;
      // Claims matter only for pods that may have to be replaced.
      const claims = isReady ? [] : await claimsOf(kubernetes, namespace, pod, machines);
      const [tied] = claims.flatMap(({ tie }) => (tie.kind === "machine" ? [tie.machine] : []));
      return {
        name: resourceName(pod),
        uid: metadata?.uid ?? "",
        machine: spec?.nodeName ?? tied,
        address: status?.podIP,
        isReady,
        claims,
      };
    }),
  );
}

async function claimsOf(
  kubernetes: KubernetesClient,
  namespace: string,
  { spec }: V1Pod,
  machines: readonly MachineState[],
): Promise<PlacedClaim[]> {
  const names = (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
  const claims = await Promise.all(
    names.map(async (name): Promise<PlacedClaim[]> => {
      const claim = await kubernetes.find(
        `reading volume claim ${name} of namespace ${namespace}`,
        kubernetes.core.readNamespacedPersistentVolumeClaim({ namespace, name }),
      );
      const volumeName = claim?.spec?.volumeName;
      if (volumeName === undefined) return [];
      const volume = await kubernetes.find(
        `reading volume ${volumeName}`,
        kubernetes.core.readPersistentVolume({ name: volumeName }),
      );
      // A volume that no longer exists counts as shared, because nothing is known about it.
      const tie: VolumeTie = volume === undefined ? { kind: "shared" } : volumeTie(volume, machines);
      return [{ name, uid: claim?.metadata?.uid ?? "", tie }];
    }),
  );
  return claims.flat();
}

/**
 * Without waiting for the kubelet. Claims first: a new pod would use the old claim, and never start. After an
 * interruption, the next call completes it. Newer objects of the same name stay: the UID is required.
 */
export async function deleteLostPod(
  kubernetes: KubernetesClient,
  namespace: string,
  { name, uid }: PodPlace,
  claims: readonly PlacedClaim[],
): Promise<void> {
  for (const claim of claims)
    await kubernetes.find(
      `deleting volume claim ${claim.name} of namespace ${namespace}`,
      kubernetes.core.deleteNamespacedPersistentVolumeClaim({
        ...{ namespace, name: claim.name },
        body: { preconditions: { uid: claim.uid } },
      }),
    );
  await kubernetes.find(
    `deleting pod ${name} of namespace ${namespace}`,
    kubernetes.core.deleteNamespacedPod({
      ...{ namespace, name },
      body: { gracePeriodSeconds: 0, preconditions: { uid } },
    }),
  );
}

/**
 * `machine`: only one machine can use the volume, so data are lost with it. `exclusive`: others can, one at a time,
 * because a driver attaches it. `shared`: nothing prevents that two machines write to it.
 */
export type VolumeTie =
  | { readonly kind: "machine"; readonly machine: string }
  | { readonly kind: "exclusive" }
  | { readonly kind: "shared" };

export function volumeTie({ metadata, spec }: Plain<V1PersistentVolume>, machines: readonly MachineState[]): VolumeTie {
  const names = new Set(
    (spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).map((term): string | undefined => {
      const expressions = [...(term.matchExpressions ?? []), ...(term.matchFields ?? [])];
      const found = expressions.find(
        ({ key, operator, values = [] }) =>
          operator === "In" && values.length === 1 && (MACHINE_LABEL.test(key) || key === "metadata.name"),
      );
      const [value] = found?.values ?? [];
      // The label's value can differ from the machine's name, so the machine with this label is looked up. A machine
      // that is gone has no labels any more, so the value itself is used.
      return machines.find(({ labels }) => value !== undefined && labels[found?.key ?? ""] === value)?.name ?? value;
    }),
  );
  const [machine] = names;
  if (names.size === 1 && machine !== undefined) return { kind: "machine", machine };
  const isAttached = (metadata?.finalizers ?? []).some((each) => ATTACHER.test(each));
  const modes = spec?.accessModes ?? [];
  return isAttached && modes.length > 0 && modes.every((mode) => ONE_MACHINE_MODES.has(mode))
    ? { kind: "exclusive" }
    : { kind: "shared" };
}
