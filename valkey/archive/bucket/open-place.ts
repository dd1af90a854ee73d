/** Opens the folder or the bucket of an archive that the user names. */
import type { Problem } from "../../../lib/errors";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { BadInput, problem } from "../../../lib/errors";
import type { Place } from "../store";
import { DirectoryStore } from "../store";
import type { BucketOption } from "./location";
import { FLAGS, isBucket, parseBucket, refuseBucketOptions } from "./location";

type Values = Readonly<Record<string, unknown>>;

/**
 * Checks the location of an archive.
 * @param location path of a folder, or `s3://bucket/prefix`
 * @param values options that describe a bucket, such as `endpoint`
 * @param problems receives each problem
 * @param names names of the options, for messages. @default the options of the command line
 * @returns a function that opens the folder or the bucket. For a bucket, it sends a first request. `report` receives a
 * sentence with the reason when requests fail for a longer time
 */
export function placeAt(
  location: string,
  values: Values,
  problems: Problem[],
  names: Readonly<Record<BucketOption, string>> = FLAGS,
): (signal: AbortSignal, report?: (sentence: string) => void) => Promise<Place> {
  if (isBucket(location)) {
    const bucket = parseBucket(location, values, problems, names);
    return async (signal, report) => {
      const { BucketStore } = await import("./bucket-store.js");
      return BucketStore.open(bucket, signal, { report });
    };
  }
  refuseBucketOptions(values, problems, names);
  const folder = resolve(location);
  if (existsSync(folder) && !statSync(folder).isDirectory())
    problems.push(problem("not-a-folder", folder, " is not a folder"));
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
  const problems: Problem[] = [];
  const open = placeAt(location, values, problems);
  if (problems.length > 0) throw new BadInput(command, problems);
  return open(signal);
}
