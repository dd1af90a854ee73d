import { type Problem, BadInput } from "../../lib/errors";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { logLine } from "../../lib/pod/run-program";
import { BucketStore } from "../archive/bucket/bucket-store";
import { parseBucket } from "../archive/bucket/location";
import type { Place } from "../archive/store";
import type { ArchiverSettings } from "./pod-settings";

export async function openBucket(
  {
    place: { bucket, prefix, ...options },
    credentialsDirectory,
  }: Pick<ArchiverSettings, "place" | "credentialsDirectory">,
  signal: AbortSignal,
): Promise<Place> {
  if (credentialsDirectory !== undefined) await readCredentials(credentialsDirectory);
  const problems: Problem[] = [];
  const location = parseBucket(`s3://${bucket}/${prefix}`, options, problems);
  if (problems.length > 0) throw new BadInput("backup", problems);
  return BucketStore.open(location, signal, { report: logLine });
}

/** The kubelet updates the files, so the keys are read each time the bucket is opened. */
async function readCredentials(directory: string): Promise<void> {
  const read = async (file: string): Promise<string> => (await readFile(join(directory, file), "utf8")).trim();
  process.env["AWS_ACCESS_KEY_ID"] = await read("accessKeyId");
  process.env["AWS_SECRET_ACCESS_KEY"] = await read("secretAccessKey");
}
