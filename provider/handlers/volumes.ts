/** Grows the volumes of running servers, and refuses changes of volumes that would lose the data. */
import type { V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { compact } from "../../lib/compact";
import { BadInput } from "../../lib/errors";
import { groupBy } from "../../lib/group-by";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { resourceName } from "../../platforms/kubernetes/api/pod-diagnostics";
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { StatefulSetVolumes, DesiredVolume } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import {
  claimsOfSet,
  findStatefulSet,
  growVolumes,
  isBound,
  requestedBytes,
  zonesOfVolumes,
} from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { deleteOrphans, recreateStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-recreation";
import { listNames } from "../../valkey/verification/assertion";
import { nodeCount } from "../../valkey/topology/placement";
import { openForDeletion } from "../protocol/deletion";
import { inspectOrReport } from "../protocol/preview";
import type { InputProblem, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface VolumesInputs {
  readonly target: KubernetesReference;
  readonly storage: StorageRequest;
  /** Time limit for volumes to grow. */
  readonly timeoutSeconds: number;
}

export interface StorageRequest extends DesiredVolume {
  /** Name of the StatefulSet's template of claims. */
  readonly template: string;
  /** Whether the servers have no volumes. */
  readonly ephemeral: boolean;
  readonly onDestroy: "keep" | "delete";
}

const ANOTHER_WAY = "deploy a second stack and move the data; or destroy this one first, with its data";

const volumesOf = (
  { namespace, statefulSet }: KubernetesReference,
  { template }: StorageRequest,
): StatefulSetVolumes => ({
  namespace,
  statefulSet,
  template,
});

const describeClass = (className: string | undefined): string =>
  className === undefined ? "the default class" : `class ${className}`;

/** @returns why a change cannot be made; reads the Kubernetes API only for changes of volumes */
async function refusals(olds: VolumesInputs, target: KubernetesReference, wanted: StorageRequest): Promise<string[][]> {
  const { storage: had, target: before } = olds;
  const moves = target.namespace !== before.namespace;
  const switches = wanted.ephemeral !== had.ephemeral;
  const resizes = !wanted.ephemeral && parseQuantity(wanted.size) !== parseQuantity(had.size);
  const reclasses = !wanted.ephemeral && wanted.className !== had.className;
  const zones = wanted.ephemeral ? { lost: [], gained: [] } : zoneChange(before.zones, target.zones);
  const spreads = zones.lost.length + zones.gained.length > 0;
  if (!moves && !switches && !resizes && !reclasses && !spreads) return [];
  const kubernetes = await openKubernetesClient(before);
  const set = volumesOf(before, had);
  if ((await findStatefulSet(kubernetes, set)) === undefined && !resizes && !reclasses && !spreads) return [];
  const claims = await claimsOfSet(kubernetes, set);
  const bound = claims.filter(isBound);
  const { name } = before;
  const held = `${heldBy(name, bound)}, and new ones start empty. Undo the change; or ${ANOTHER_WAY}`;
  return compact([
    moves && bound.length > 0
      ? ["target.namespace", `${name} cannot move from ${before.namespace} to ${target.namespace}: ${held}`]
      : undefined,
    switches
      ? [
          "storage.ephemeral",
          `${had.ephemeral ? "storage that is lost with the pod cannot become volumes" : "volumes cannot become storage that is lost with the pod"}: ` +
            `Kubernetes makes all pods of ${name} anew at once, without their data. Undo the change; or ${ANOTHER_WAY}`,
        ]
      : undefined,
    reclasses && bound.some(({ spec }) => spec?.storageClassName !== wanted.className)
      ? [
          "storage.className",
          `volumes of ${describeClass(had.className)} cannot become volumes of ${describeClass(wanted.className)}: ${held}`,
        ]
      : undefined,
    spreads ? await zoneRefusal(kubernetes, before, zones, bound) : undefined,
    resizes && bound.length > 0 ? await sizeRefusal(kubernetes, olds, wanted, claims) : undefined,
  ]);
}

interface ZoneChange {
  readonly lost: readonly string[];
  readonly gained: readonly string[];
}

const zoneChange = (before: readonly string[], after: readonly string[]): ZoneChange => ({
  lost: before.filter((zone) => !after.includes(zone)),
  gained: after.filter((zone) => !before.includes(zone)),
});

/** Nodes move to other zones by copying their data from others: see `repairLostNodes`. */
async function zoneRefusal(
  kubernetes: KubernetesClient,
  { name, shape }: KubernetesReference,
  { lost, gained }: ZoneChange,
  bound: readonly V1PersistentVolumeClaim[],
): Promise<string[] | undefined> {
  const zoneOf = await zonesOfVolumes(kubernetes, bound);
  const inZone = groupBy(bound.map(resourceName), (claim) => zoneOf.get(claim));
  const there = lost.flatMap((zone) => inZone.get(zone) ?? []);
  // Until nodes have moved to a new zone, none starts where two are.
  const crowds = [...inZone].flatMap(([zone, claims]) => (zone === undefined || claims.length < 2 ? [] : claims));
  const tooMany = gained.length === 0 ? [] : crowds;
  // A node without replicas would lose its data.
  const mayNotMove = shape.replicasPerPrimary === 0 ? [...there, ...tooMany] : [];
  if (mayNotMove.length === 0) return undefined;
  const change = there.length > 0 ? `lose ${lost.join(", ")}` : `gain ${gained.join(", ")}`;
  return [
    "target.zones",
    `zones cannot ${change}: nodes of ${name} would have to move of which nobody could take over (${listNames(mayNotMove)}), and ` +
      `a pod cannot run in another zone than its volume. Keep the zones; add replicas first; or ${ANOTHER_WAY}`,
  ];
}

function heldBy(name: string, bound: readonly V1PersistentVolumeClaim[]): string {
  const [first] = bound;
  return `the ${bound.length} volumes of ${name}${first === undefined ? "" : ` (${resourceName(first)} …)`} hold its data`;
}

async function sizeRefusal(
  kubernetes: KubernetesClient,
  { storage: had, target: { name } }: VolumesInputs,
  wanted: StorageRequest,
  claims: readonly V1PersistentVolumeClaim[],
): Promise<string[] | undefined> {
  const refused = (reason: string): string[] => ["storage.size", reason];
  // An attempt to grow may have failed before it asked for a larger volume.
  const asked = Math.max(...claims.filter(isBound).map(requestedBytes));
  if (parseQuantity(wanted.size) < parseQuantity(had.size))
    return parseQuantity(wanted.size) >= asked
      ? undefined
      : refused(
          `volumes of ${had.size} cannot shrink to ${wanted.size}: volumes can grow only, and ` +
            `${heldBy(name, claims.filter(isBound))}. Set at least ${had.size}; or ${ANOTHER_WAY}`,
        );
  const unbound = claims.find((claim) => !isBound(claim));
  if (unbound !== undefined)
    return refused(
      `volumes of ${had.size} cannot grow to ${wanted.size} while ${resourceName(unbound)} has no volume yet: ` +
        "finish the change that made it, and grow the volumes then",
    );
  for (const className of new Set(claims.map(({ spec }) => spec?.storageClassName ?? ""))) {
    const found = await kubernetes.find(
      `reading storage class ${className}`,
      kubernetes.storage.readStorageClass({ name: className }),
    );
    if (found?.allowVolumeExpansion === true) continue;
    return refused(
      `volumes of ${had.size} cannot grow to ${wanted.size}: ` +
        (found === undefined
          ? `the cluster has no storage class ${className} any more`
          : `storage class ${className} does not set allowVolumeExpansion: true. Set it, if its driver can grow volumes ` +
            `(kubectl patch storageclass ${className} -p '{"allowVolumeExpansion":true}')`) +
        `; or ${ANOTHER_WAY}`,
    );
  }
  return undefined;
}

/**
 * A failure leaves some volumes larger than others, or no StatefulSet: its pods then run without it, and a ConfigMap has its copy. The
 * next update asks for the rest, and makes the StatefulSet again with the size that it wants, also with the former one. Volumes that have
 * grown stay: a smaller size is refused then.
 */
export const handler: ResourceHandler<VolumesInputs, object> = {
  check: async (olds, { target, storage }, { report }): Promise<InputProblem[]> => {
    if (storage !== undefined && !(parseQuantity(storage.size) > 0))
      return [{ property: "storage.size", reason: `"${storage.size}" is not a size; expected one such as 20Gi` }];
    if (olds === undefined || target === undefined || storage === undefined) return [];
    const found = await inspectOrReport(target.name, report, () => refusals(olds, target, storage));
    return (found ?? []).map(([property = "", reason = ""]) => ({ property, reason }));
  },
  describeChange: ({ storage: had, target: before }, { storage = had, target = before }) => {
    if (storage.ephemeral) return [];
    const { lost, gained } = zoneChange(before.zones, target.zones);
    const leave = [
      ...(lost.length > 0 ? [`zones lose ${lost.join(", ")}: nodes there`] : []),
      ...(gained.length > 0 ? [`zones gain ${gained.join(", ")}: nodes of fuller zones`] : []),
    ];
    return [
      ...(parseQuantity(storage.size) === parseQuantity(had.size)
        ? []
        : [
            `${nodeCount(target.shape)} volumes grow from ${had.size} to ${storage.size} in about half a minute; no node restarts, ` +
              `clients see nothing: StatefulSet ${target.statefulSet} is made again around its pods`,
          ]),
      ...leave.map(
        (nodes) =>
          `${nodes} start elsewhere, one after the other, in new volumes, and copy their data from others before the next one leaves`,
      ),
    ];
  },
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  recordsAttempts: true,
  update: async (_id, olds, { target, storage, timeoutSeconds }, context) => {
    // A preview may have been without access.
    const refused = await refusals(olds, target, storage);
    if (refused.length > 0)
      throw new BadInput(
        target.name,
        refused.map(([property = "", reason = ""]) => `${property}: ${reason}`),
      );
    if (storage.ephemeral) return {};
    const options = waitOptions(target.name, timeoutSeconds, context);
    const kubernetes = await openKubernetesClient(target);
    const volumes = volumesOf(target, storage);
    await growVolumes(kubernetes, volumes, storage.size, options);
    await recreateStatefulSet(kubernetes, volumes, storage, options);
    return {};
  },
  // After the servers. An update that was killed before the StatefulSet was made again left pods that nobody owns.
  delete: async (_id, { target, storage }, context) => {
    const kubernetes = await openForDeletion(target, `volumes of ${target.name}`, context);
    if (kubernetes !== undefined)
      await deleteOrphans(kubernetes, volumesOf(target, storage), storage.onDestroy === "delete");
  },
};
