/** Opens the bucket in which a pod `NAME-archive` stores the archive of its deployment. */
import type { Problem } from "../../lib/errors";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BadInput } from "../../lib/errors";
import { logLine } from "../../lib/pod/run-program";
import { BucketStore } from "../archive/bucket/bucket-store";
import { parseBucket } from "../archive/bucket/location";
import { claimArchive, listPeriods, readOwner, shardStore } from "../archive/periods";
import { listSets } from "../archive/sets";
import type { ArchiveStore, Place } from "../archive/store";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import type { OpenArchive } from "./archiver";
import type { ArchiverSettings } from "./pod-settings";

/** Greater than 1, because names that begin with a dot come first and do not count. */
const FIRST_NAMES = 20;

/** @throws BadInput if the bucket does not exist, refuses the request or does not answer */
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

/** @throws BadInput if the archive belongs to a different deployment, or if a different process writes to it */
export async function openArchive(
  place: Place,
  { name, mode, nodes }: Deployment,
  signal: AbortSignal,
): Promise<OpenArchive> {
  const lease = await place.lease(signal);
  if (lease === undefined)
    throw BadInput.of(place.label, "archive-in-use", "a different process writes to this archive");
  try {
    const owner = { deployment: name, mode, nodes: nodes.map(({ endpoint }) => formatEndpoint(endpoint)) };
    const others = (await readOwner(place)) === undefined ? await otherFiles(place) : [];
    if (others.length > 0)
      throw BadInput.of(
        place.label,
        "other-objects",
        `there are other objects and no archive (${others[0]}); use a new prefix`,
      );
    await claimArchive(place, owner, place.label);
  } catch (error) {
    await lease.release();
    throw error;
  }
  return { place, lost: lease.lost, countSets: () => countSets(place), close: () => lease.release() };
}

/** Names that begin with a dot do not count: an attempt to create an archive may have left such objects. */
async function otherFiles(place: Place): Promise<string[]> {
  return (await place.list("", FIRST_NAMES)).filter((name) => !name.startsWith("."));
}

async function countSets(store: ArchiveStore): Promise<number> {
  const periods = await listPeriods(store);
  const counts = periods.flatMap((period) =>
    period.shards.map(async ({ name }) => (await listSets(shardStore(store, period, name))).length),
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
