import type { V1PersistentVolume } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { type VolumeReader, awaitVolumesGone } from "../../../operations/handlers/volume-deletion-wait";

const NOBODY = { signal: new AbortController().signal, report: () => undefined };

const volume = (
  name: string,
  namespace: string,
  persistentVolumeReclaimPolicy = "Delete",
): Plain<V1PersistentVolume> => ({
  metadata: { name },
  spec: { claimRef: { namespace, name: "data" }, persistentVolumeReclaimPolicy },
});

/** Answers one list after the other, the last one for ever. */
function reader(lists: readonly (readonly Plain<V1PersistentVolume>[])[]): VolumeReader & { asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    core: {
      listPersistentVolume: () => Promise.resolve({ items: [...(lists[Math.min(asked++, lists.length - 1)] ?? [])] }),
    },
    call: (_doing, answer) => answer,
  };
}

describe("awaitVolumesGone", () => {
  it("waits for the volumes of a namespace, but not for retained ones or those of other namespaces", async () => {
    const others = [volume("theirs", "other"), volume("kept", "valkey", "Retain")];
    const kubernetes = reader([
      [volume("a", "valkey"), volume("b", "valkey"), ...others],
      [volume("b", "valkey"), ...others],
      others,
    ]);
    await awaitVolumesGone(kubernetes, "valkey", { ...NOBODY, timeoutMs: 1000 }, 1);
    expect(kubernetes.asked()).toBe(3);
  });

  it("names the volumes that still exist when the time is up", async () => {
    const left = Array.from({ length: 6 }, (_, index) => volume(`pvc-${index}`, "valkey"));
    await expect(awaitVolumesGone(reader([left]), "valkey", { ...NOBODY, timeoutMs: 5 }, 1)).rejects.toThrow(
      "volumes of namespace valkey still exist: pvc-0, pvc-1, pvc-2, pvc-3 and 2 more; run pulumi destroy again when these volumes are gone",
    );
  });
});
