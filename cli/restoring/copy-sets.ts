/** Copies the sets of a restore from a bucket to this machine. */
import { join } from "node:path";
import type { Host } from "../../platforms/host/host";
import type { Restore } from "../../valkey/archive/catalog";
import type { Place } from "../../valkey/archive/store";
import type { Step } from "../terminal/steps";

/**
 * The step that copies the sets into the directory of the run. The list is empty for a folder, because servers load its
 * sets where they are.
 * @param onCopied receives the same restore with the copied sets
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
