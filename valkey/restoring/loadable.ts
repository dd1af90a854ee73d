/** Decides whether servers of a version can load the RDB file of a set. Pure. */
import { cannotReadDataOf } from "../settings/version";
import type { BaseManifest } from "../archive/manifests";

/** Newest format of RDB files of Redis that Valkey loads. */
const NEWEST_OF_REDIS = 11;

/**
 * The reason why servers of a version cannot load a set's RDB file. Undefined if they can load it.
 * @param version version of the servers, such as `9.1.2`
 */
export function loadProblem(
  { format, serverVersion }: Pick<BaseManifest, "format" | "serverVersion">,
  version: string,
): string | undefined {
  const wrote = `a server of version ${serverVersion} wrote it in the RDB format ${format}`;
  const [magic, number] = format.split(" ");
  if (magic === "REDIS" && Number(number) > NEWEST_OF_REDIS)
    return `${wrote}, which Valkey does not load; Valkey loads the formats of Redis up to ${NEWEST_OF_REDIS}`;
  if (!cannotReadDataOf(serverVersion, version)) return undefined;
  return `${wrote}, and Valkey ${version} on this machine cannot load it; set VALKEY_HOME to a newer version`;
}
