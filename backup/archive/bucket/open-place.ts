import { type Problem, BadInput, problem } from "../../../lib/errors";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type Place, DirectoryStore } from "../store";
import { type BucketOption, FLAGS, isBucket, parseBucket, refuseBucketOptions } from "./location";

type Values = Readonly<Record<string, unknown>>;

/** Returns a function that opens it; for a bucket, it sends a first request. `report` says why requests fail. */
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
