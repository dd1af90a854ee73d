/** Changes of volumes are refused if servers would lose data, or if Kubernetes cannot make them. */
import { type Problem, problem } from "../../lib/errors";
import type { V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import { type KubernetesReference, openKubernetesClient } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { resourceName } from "../../platforms/kubernetes/api/pod-diagnostics";
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { DesiredVolume, StatefulSetVolumes } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import {
  claimsOfSet,
  findStatefulSet,
  isBound,
  requestedBytes,
  zonesOfVolumes,
} from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { listNames } from "../../valkey/verification/violations";

export interface StorageRequest extends DesiredVolume {
  readonly template: string;
  readonly ephemeral: boolean;
  readonly onDestroy: "keep" | "delete";
}

export interface StoredDeployment {
  readonly target: KubernetesReference;
  readonly storage: StorageRequest;
}

/** Zones that a change removes from a deployment (`lost`), and zones that it adds (`gained`). */
interface ZoneChange {
  readonly lost: readonly string[];
  readonly gained: readonly string[];
}

/**
 * Finds the zones that are only in the first of two lists (`lost`), and the zones that are only in the second
 * (`gained`).
 */
export function zoneChange(before: readonly string[], after: readonly string[]): ZoneChange {
  return {
    lost: before.filter((zone) => !after.includes(zone)),
    gained: after.filter((zone) => !before.includes(zone)),
  };
}

export function zoneList(zones: readonly string[]): string {
  return `${zones.length === 1 ? "zone" : "zones"} ${zones.join(", ")}`;
}

export function volumesOf({
  target: { namespace, statefulSet },
  storage: { template },
}: StoredDeployment): StatefulSetVolumes {
  return { namespace, statefulSet, template };
}

interface Change {
  readonly kubernetes: KubernetesClient;
  readonly before: StoredDeployment;
  readonly after: StoredDeployment;
  readonly claims: readonly V1PersistentVolumeClaim[];
  readonly bound: readonly V1PersistentVolumeClaim[];
}

const ANOTHER_WAY = "deploy a second stack and move the data; or destroy this deployment and its data first";

/** Reads the Kubernetes API only if the change affects volumes. */
export async function volumeRefusals(before: StoredDeployment, after: StoredDeployment): Promise<Problem[]> {
  const [had, wanted] = [before.storage, after.storage];
  const moves = after.target.namespace !== before.target.namespace;
  const switches = wanted.ephemeral !== had.ephemeral;
  const resizes = !wanted.ephemeral && parseQuantity(wanted.size) !== parseQuantity(had.size);
  const reclasses = !wanted.ephemeral && wanted.className !== had.className;
  const { lost, gained } = zoneChange(before.target.zones, after.target.zones);
  const spreads = !wanted.ephemeral && lost.length + gained.length > 0;
  const needsVolumes = resizes || reclasses || spreads;
  if (!moves && !switches && !needsVolumes) return [];
  const kubernetes = await openKubernetesClient(before.target);
  const set = volumesOf(before);
  if (!needsVolumes && (await findStatefulSet(kubernetes, set)) === undefined) return [];
  const claims = await claimsOfSet(kubernetes, set);
  const change = { kubernetes, before, after, claims, bound: claims.filter(isBound) };
  return compact([
    moves ? moveRefusal(change) : undefined,
    switches ? switchRefusal(before) : undefined,
    reclasses ? classRefusal(change) : undefined,
    spreads ? await zoneRefusal(change) : undefined,
    resizes ? await sizeRefusal(change) : undefined,
  ]);
}

function moveRefusal({ before: { target: before }, after: { target }, bound }: Change): Problem | undefined {
  if (bound.length === 0) return undefined;
  const { name, namespace } = before;
  const move = `from namespace ${namespace} to namespace ${target.namespace}`;
  return problem(
    "namespace-changed",
    "target.namespace",
    `${name} cannot move ${move}: ${whyNotReplaced(name, bound)}`,
  );
}

function switchRefusal({ target: { name }, storage: { ephemeral } }: StoredDeployment): Problem {
  const change = ephemeral
    ? "storage that is deleted with the pod cannot become volumes"
    : "volumes cannot become storage that is deleted with the pod";
  return problem(
    "storage-switched",
    "storage.ephemeral",
    `${change}: Kubernetes would recreate all pods of ${name} at once, without their data. Undo the change; or ${ANOTHER_WAY}`,
  );
}

function classRefusal({ before, after, bound }: Change): Problem | undefined {
  const [had, wanted] = [before.storage.className, after.storage.className];
  if (bound.every(({ spec }) => spec?.storageClassName === wanted)) return undefined;
  const change = `volumes of ${describeClass(had)} cannot become volumes of ${describeClass(wanted)}`;
  const message = `${change}: ${whyNotReplaced(before.target.name, bound)}`;
  return problem("storage-class-changed", "storage.className", message);
}

function describeClass(className: string | undefined): string {
  return className === undefined ? "the default class" : `class ${className}`;
}

/** A node moves without its volume and copies its data from its shard, so one without replicas cannot move. */
async function zoneRefusal({ kubernetes, before, after, bound }: Change): Promise<Problem | undefined> {
  const { name, shape, zones } = before.target;
  const { lost, gained } = zoneChange(zones, after.target.zones);
  const zoneOf = await zonesOfVolumes(kubernetes, bound);
  const inZone = groupBy(bound.map(resourceName), (claim) => zoneOf.get(claim));
  const there = lost.flatMap((zone) => inZone.get(zone) ?? []);
  // While the new zone has no node, no pod can start in a zone that already has two nodes, so those nodes may have to
  // move.
  const crowds = [...inZone].flatMap(([zone, claims]) => (zone === undefined || claims.length < 2 ? [] : claims));
  const tooMany = gained.length === 0 ? [] : crowds;
  // A node without replicas would lose its data.
  const mayNotMove = shape.replicasPerPrimary === 0 ? [...there, ...tooMany] : [];
  if (mayNotMove.length === 0) return undefined;
  const change = there.length > 0 ? `${zoneList(lost)} cannot be removed` : `${zoneList(gained)} cannot be added`;
  return problem(
    "zones-changed",
    "target.zones",
    `${change}: a pod can run only in the zone of its volume, so nodes of ${name} would have to move, ` +
      `and no replica could take over from them (volumes: ${listNames(mayNotMove)}). Keep the zones; add replicas first; or ${ANOTHER_WAY}`,
  );
}

async function sizeRefusal(change: Change): Promise<Problem | undefined> {
  const { before, after, claims, bound } = change;
  if (bound.length === 0) return undefined;
  const [had, wanted] = [before.storage.size, after.storage.size];
  if (parseQuantity(wanted) < parseQuantity(had)) {
    // A previous attempt to grow may have failed before it asked for larger volumes.
    if (parseQuantity(wanted) >= Math.max(...bound.map(requestedBytes))) return undefined;
    const held = heldBy(before.target.name, bound);
    return refusedSize(
      "volumes-shrink",
      `volumes of ${had} cannot shrink to ${wanted}: volumes can only grow, and ${held}. Set at least ${had}; or ${ANOTHER_WAY}`,
    );
  }
  const unbound = claims.find((claim) => !isBound(claim));
  if (unbound !== undefined)
    return refusedSize(
      "volume-missing",
      `volumes of ${had} cannot grow to ${wanted} while ${resourceName(unbound)} has no volume yet: ` +
        "first finish the change that added this volume claim, and then grow the volumes",
    );
  const why = await whyFixedSize(change);
  return why === undefined
    ? undefined
    : refusedSize("volumes-fixed", `volumes of ${had} cannot grow to ${wanted}: ${why}; or ${ANOTHER_WAY}`);
}

const refusedSize = (code: string, message: string): Problem => problem(code, "storage.size", message);

/** Reason why a storage class does not allow its volumes to grow; undefined if all classes allow it. */
async function whyFixedSize({ kubernetes, claims }: Change): Promise<string | undefined> {
  for (const name of new Set(claims.map(({ spec }) => spec?.storageClassName ?? ""))) {
    const reading = kubernetes.storage.readStorageClass({ name });
    const found = await kubernetes.find(`reading storage class ${name}`, reading);
    if (found === undefined) return `the cluster has no storage class ${name} any more`;
    if (found.allowVolumeExpansion !== true)
      return (
        `storage class ${name} does not set allowVolumeExpansion: true. If the driver of this class can grow volumes, set ` +
        `allowVolumeExpansion (kubectl patch storageclass ${name} -p '{"allowVolumeExpansion":true}')`
      );
  }
  return undefined;
}

function whyNotReplaced(name: string, bound: readonly V1PersistentVolumeClaim[]): string {
  return `${heldBy(name, bound)}, and new volumes start empty. Undo the change; or ${ANOTHER_WAY}`;
}

function heldBy(name: string, bound: readonly V1PersistentVolumeClaim[]): string {
  const [first] = bound;
  return `the ${bound.length} volumes of ${name}${first === undefined ? "" : ` (${resourceName(first)} …)`} hold the data`;
}
