/** Grows the volumes of running servers, and refuses changes of volumes that would lose the data. */
import { compact } from "../../lib/compact";
import { BadInput } from "../../lib/errors";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import { deleteOrphans, recreateStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-recreation";
import { growVolumes } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { nodeCount } from "../../valkey/topology/placement";
import { openForDeletion } from "../protocol/deletion";
import { inspectOrReport } from "../protocol/preview";
import type { InputProblem, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";
import type { StoredDeployment } from "../updates/volume-refusals";
import { volumeRefusals, volumesOf, zoneChange } from "../updates/volume-refusals";

export interface VolumesInputs extends StoredDeployment {
  /** Time limit for volumes to grow. */
  readonly timeoutSeconds: number;
}

/**
 * A failure leaves some volumes larger than others, or no StatefulSet: its pods then run without it, and a ConfigMap has its copy. The
 * next update asks for the rest, and makes the StatefulSet again with the size that it wants, also with the former one. Volumes that have
 * grown stay: a smaller size is refused then.
 */
export const handler: ResourceHandler<VolumesInputs, object> = {
  check: async (olds, { target, storage }, { report }): Promise<readonly InputProblem[]> => {
    if (storage !== undefined && !(parseQuantity(storage.size) > 0))
      return [{ property: "storage.size", reason: `"${storage.size}" is not a size; expected one such as 20Gi` }];
    if (olds === undefined || target === undefined || storage === undefined) return [];
    return (await inspectOrReport(target.name, report, () => volumeRefusals(olds, { target, storage }))) ?? [];
  },
  describeChange: ({ storage: had, target: before }, { storage = had, target = before }) => {
    if (storage.ephemeral) return [];
    const { lost, gained } = zoneChange(before.zones, target.zones);
    const grows = parseQuantity(storage.size) !== parseQuantity(had.size);
    const leaving = compact([
      lost.length > 0 ? `zones lose ${lost.join(", ")}: nodes there` : undefined,
      gained.length > 0 ? `zones gain ${gained.join(", ")}: nodes of fuller zones` : undefined,
    ]);
    return compact([
      grows
        ? `${nodeCount(target.shape)} volumes grow from ${had.size} to ${storage.size} in about half a minute; no node restarts, ` +
          `clients see nothing: StatefulSet ${target.statefulSet} is made again around its pods`
        : undefined,
      ...leaving.map(
        (nodes) =>
          `${nodes} start elsewhere, one after the other, in new volumes, and copy their data from others before the next one leaves`,
      ),
    ]);
  },
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  recordsAttempts: true,
  update: async (_id, olds, { target, storage, timeoutSeconds }, context) => {
    // A preview may have been without access.
    const refused = await volumeRefusals(olds, { target, storage });
    if (refused.length > 0)
      throw new BadInput(
        target.name,
        refused.map(({ property, reason }) => `${property}: ${reason}`),
      );
    if (storage.ephemeral) return {};
    const options = waitOptions(target.name, timeoutSeconds, context);
    const kubernetes = await openKubernetesClient(target);
    const volumes = volumesOf({ target, storage });
    await growVolumes(kubernetes, volumes, storage.size, options);
    await recreateStatefulSet(kubernetes, volumes, storage, options);
    return {};
  },
  // After the servers. An update that was killed before the StatefulSet was made again left pods that nobody owns.
  delete: async (_id, { target, storage }, context) => {
    const kubernetes = await openForDeletion(target, `volumes of ${target.name}`, context);
    if (kubernetes !== undefined)
      await deleteOrphans(kubernetes, volumesOf({ target, storage }), storage.onDestroy === "delete");
  },
};
