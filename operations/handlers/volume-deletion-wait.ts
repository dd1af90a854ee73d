import type { V1PersistentVolume } from "@kubernetes/client-node";
import { openForDeletion } from "../protocol/deletion";
import type { ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";
import { Failure } from "../../lib/errors";
import type { WaitOptions } from "../../lib/progress";
import { holdsInTime } from "../../lib/polling";
import { formatList } from "../../lib/units";
import type { Plain } from "../../platforms/kubernetes/api/plain";

const POLL_MS = 2_000;

export interface VolumeDeletionWaitInputs {
  /** The text of a kubeconfig without secrets. */
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly timeoutSeconds: number;
}

export const handler: ResourceHandler<VolumeDeletionWaitInputs, object> = {
  create: ({ namespace }) => Promise.resolve({ id: namespace, outputs: {} }),
  delete: async (_id, { kubeconfig, namespace, timeoutSeconds }, context) => {
    const kubernetes = await openForDeletion({ kubeconfig }, `volumes of namespace ${namespace}`, context);
    if (kubernetes === undefined) return;
    await awaitVolumesGone(kubernetes, namespace, waitOptions(namespace, timeoutSeconds, context));
  },
};

export interface VolumeReader {
  readonly core: { listPersistentVolume(): Promise<{ readonly items: readonly Plain<V1PersistentVolume>[] }> };
  call<T>(doing: string, answer: Promise<T>): Promise<T>;
}

/** Volumes that are kept on purpose are ignored. @throws Failure that names the rest, or why they cannot be read */
export async function awaitVolumesGone(
  kubernetes: VolumeReader,
  namespace: string,
  { timeoutMs, signal, report }: WaitOptions,
  pollMs = POLL_MS,
): Promise<void> {
  let left: string[] = [];
  const areGone = async (): Promise<boolean> => {
    left = await volumesOf(kubernetes, namespace);
    if (left.length > 0) report(`volumes ${formatList(left, 4)} are not deleted yet`, true);
    return left.length === 0;
  };
  if (await holdsInTime(areGone, { timeoutMs, intervalMs: pollMs, signal })) return;
  throw new Failure(
    `volumes of namespace ${namespace} still exist: ${formatList(left, 4)}; run pulumi destroy again when these volumes are gone`,
  );
}

async function volumesOf(kubernetes: VolumeReader, namespace: string): Promise<string[]> {
  const { items } = await kubernetes.call("reading volumes", kubernetes.core.listPersistentVolume());
  return items.flatMap(({ metadata, spec }) =>
    spec?.claimRef?.namespace === namespace && spec.persistentVolumeReclaimPolicy !== "Retain"
      ? [metadata?.name ?? ""]
      : [],
  );
}
