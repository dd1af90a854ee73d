/** Refuses changes of volumes that would lose the data. */
import { type Problem, BadInput, problem } from "../../../lib/errors";
import { compact } from "../../../lib/compact";
import { openKubernetesClient } from "../../../platforms/deployment-reference";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { deleteOrphans, recreateStatefulSet } from "../../../platforms/kubernetes/volumes/statefulset-recreation";
import { growVolumes } from "../../../platforms/kubernetes/volumes/statefulset-volumes";
import { nodeCount } from "../../../valkey/topology/placement";
import { openForDeletion } from "../../protocol/deletion";
import { inspectOrReport } from "../../protocol/preview";
import type { ResourceHandler } from "../../protocol/resource-handler";
import { waitOptions } from "../../protocol/waiting";
import { type StoredDeployment, volumeRefusals, volumesOf, zoneChange, zoneList } from "../../changes/volume-refusals";

export interface VolumesInputs extends StoredDeployment {
  readonly timeoutSeconds: number;
}

/**
 * Grows volumes and recreates the StatefulSet. After a failure, some volumes may be larger than others. The StatefulSet
 * may be missing. In this case the pods of the StatefulSet keep running, and a ConfigMap has a copy of the StatefulSet.
 * The next update grows the remaining volumes and recreates the StatefulSet with the size of that update, even if it is
 * the former size. Volumes that have grown cannot shrink, so a smaller size is refused.
 */
export const handler: ResourceHandler<VolumesInputs, object> = {
  check: async (olds, { target, storage }, { report }): Promise<readonly Problem[]> => {
    if (storage !== undefined && !(parseQuantity(storage.size) > 0))
      return [problem("not-a-size", "storage.size", `"${storage.size}" is not a size; expected a size such as 20Gi`)];
    if (olds === undefined || target === undefined || storage === undefined) return [];
    return (await inspectOrReport(target.name, report, () => volumeRefusals(olds, { target, storage }))) ?? [];
  },
  describeChange: ({ storage: had, target: before }, { storage = had, target = before }) => {
    if (storage.ephemeral) return [];
    const { lost, gained } = zoneChange(before.zones, target.zones);
    const grows = parseQuantity(storage.size) !== parseQuantity(had.size);
    const leaving = compact([
      lost.length > 0 ? `${areZones(lost)} removed: nodes there` : undefined,
      gained.length > 0 ? `${areZones(gained)} added: nodes in fuller zones` : undefined,
    ]);
    return compact([
      grows
        ? `${nodeCount(target.shape)} volumes grow from ${had.size} to ${storage.size} in about half a minute; no node restarts, ` +
          `no effect on clients: StatefulSet ${target.statefulSet} is recreated and keeps its pods`
        : undefined,
      ...leaving.map(
        (nodes) =>
          `${nodes} move to other zones, one after the other, with new volumes; each node copies its data from other nodes before the next node moves`,
      ),
    ]);
  },
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  recordsAttempts: true,
  update: async (_id, olds, { target, storage, timeoutSeconds }, context) => {
    // The update checks this again, because a preview may have had no access to the Kubernetes cluster.
    const refused = await volumeRefusals(olds, { target, storage });
    if (refused.length > 0) throw new BadInput(target.name, refused);
    if (storage.ephemeral) return {};
    const options = waitOptions(target.name, timeoutSeconds, context);
    const kubernetes = await openKubernetesClient(target);
    const volumes = volumesOf({ target, storage });
    await growVolumes(kubernetes, volumes, storage.size, options);
    await recreateStatefulSet(kubernetes, volumes, storage, options);
    return {};
  },
  // Deletion comes after the deletion of the servers. If an update was killed before it recreated the StatefulSet, pods
  // without an owner are left.
  delete: async (_id, { target, storage }, context) => {
    const kubernetes = await openForDeletion(target, `volumes of ${target.name}`, context);
    if (kubernetes !== undefined)
      await deleteOrphans(kubernetes, volumesOf({ target, storage }), storage.onDestroy === "delete");
  },
};

function areZones(zones: readonly string[]): string {
  return `${zoneList(zones)} ${zones.length === 1 ? "is" : "are"}`;
}
