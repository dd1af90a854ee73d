/** Copies sets of an archive from a bucket to this machine, for a restore. */
import { join } from "node:path";
import type { Host } from "../../platforms/host/host";
import type { Restore } from "../../valkey/archive/catalog";
import type { Place } from "../../valkey/archive/store";
import type { Step } from "../terminal/steps";

/**
 * The step that copies the sets of an archive from a bucket to this machine. The list is empty for a folder, because
 * servers can load the sets from there.
 * @param onCopied called with the restore, changed to use the copied sets
 */
export function copySteps(
  { place, restored }: { readonly place: Place; readonly restored: Restore },
  host: Host,
  signal: AbortSignal,
  onCopied: (restored: Restore) => void,
): Step[] {
  if (!place.isRemote) return [];
  return [
    {
      title: `Copy the sets from ${place.label}`,
      run: async (report) => {
        const { copySets } = await import("../../valkey/archive/bucket/local-sets.js");
        onCopied(await copySets(restored, join(host.run.path, "sets"), { signal, report }));
        return undefined;
      },
    },
  ];
}
