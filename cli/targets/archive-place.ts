/** Opens the folder or the bucket of an archive that the command line names. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { BadInput } from "../../lib/errors";
import { isBucket, parseBucket, refuseBucketOptions } from "../../valkey/archive/bucket/location";
import type { Place } from "../../valkey/archive/store";
import { DirectoryStore } from "../../valkey/archive/store";

type Values = Readonly<Record<string, unknown>>;

/**
 * Checks the location of an archive.
 * @param location path of a folder, or `s3://bucket/prefix`
 * @param values options of the command, such as `endpoint`
 * @param problems receives each problem
 * @returns a function that opens the folder or the bucket. For a bucket, it sends a first request
 */
export function placeAt(location: string, values: Values, problems: string[]): (signal: AbortSignal) => Promise<Place> {
  if (isBucket(location)) {
    const bucket = parseBucket(location, values, problems);
    return async (signal) => {
      const { BucketStore } = await import("../../valkey/archive/bucket/bucket-store.js");
      return BucketStore.open(bucket, signal);
    };
  }
  refuseBucketOptions(values, problems);
  const folder = resolve(location);
  if (existsSync(folder) && !statSync(folder).isDirectory()) problems.push(`${folder} is not a folder`);
  return () => Promise.resolve(new DirectoryStore(folder));
}

/**
 * Opens the folder or the bucket of an archive.
 * @param command name of the command, for messages
 * @throws BadInput with every problem
 */
export async function openPlace(
  command: string,
  location: string,
  values: Values,
  signal: AbortSignal,
): Promise<Place> {
  const problems: string[] = [];
  const open = placeAt(location, values, problems);
  if (problems.length > 0) throw new BadInput(command, problems);
  return open(signal);
}
