import { type Problem, BadInput, problem } from "../../lib/errors";
import { isAbsolute } from "node:path";
import { isBucket } from "../archive/bucket/location";
import { placeAt } from "../archive/bucket/open-place";
import type { Place } from "../archive/store";
import { parseInstant } from "./instant";
import type { BUCKET_FIELDS, RESTORE_FIELDS } from "../../model/backup";
import type { Fields } from "../../model/fields";
import { KeySelection } from "./key-selection";

/** Archived data with which a new deployment is filled. */
export interface RestoreFrom extends Fields<typeof BUCKET_FIELDS>, Fields<typeof RESTORE_FIELDS> {
  /** Path of a folder on this machine, or `s3://BUCKET/PREFIX`. */
  readonly from: string;
  /** Region of the bucket. */
  readonly region?: string | undefined;
  /** Whether request URLs have the name of the bucket in the path. */
  readonly pathStyle?: boolean | undefined;
}

const NAMES = { endpoint: "endpoint", region: "region", encryption: "encryption", pathStyle: "pathStyle" };

export function restoreFromProblems({ from, at, keys = [], ...bucket }: RestoreFrom): Problem[] {
  const problems: Problem[] = [];
  if (!isBucket(from) && !isAbsolute(from))
    problems.push(
      problem(
        "not-a-place",
        "from",
        ` is ${JSON.stringify(from)}: expected the absolute path of a folder on this machine, or s3://BUCKET/PREFIX`,
      ),
    );
  else placeAt(from, bucketOptions(bucket), problems, NAMES);
  if (at !== undefined && parseInstant(at) === undefined)
    problems.push(
      problem(
        "wrong-time",
        "at",
        ` is ${JSON.stringify(at)}: expected a time with a time zone, such as 2026-11-24T08:00:00Z`,
      ),
    );
  if (keys.includes(""))
    problems.push(
      problem("empty-pattern", "keys", ' has the pattern "", which no key matches; leave keys out to restore all keys'),
    );
  return problems;
}

/** For a bucket, it sends a first request. @throws BadInput; the errors of the bucket */
export async function openRestoreFrom({ from, ...bucket }: RestoreFrom, signal: AbortSignal): Promise<Place> {
  const problems: Problem[] = [];
  const open = placeAt(from, bucketOptions(bucket), problems, NAMES);
  if (problems.length > 0) throw new BadInput("restoreFrom", problems);
  return open(signal);
}

function bucketOptions({ endpoint, region, pathStyle }: Omit<RestoreFrom, "from">): Readonly<Record<string, unknown>> {
  return { endpoint, region, pathStyle };
}

export const restoredInstant = ({ at }: Pick<RestoreFrom, "at">): number | undefined =>
  at === undefined ? undefined : parseInstant(at);

export const restoredKeys = ({ keys }: Pick<RestoreFrom, "keys">): KeySelection => new KeySelection(keys);

export function describeRestoreFrom({ from, at, keys = [], ttl = "absolute" }: RestoreFrom): string {
  const time = at === undefined ? "its last time" : at;
  const selected = keys.length === 0 ? "" : `, only keys ${keys.join(", ")}`;
  const moved = ttl === "absolute" ? "" : ", with the TTLs that were left at this time";
  return `${from} as of ${time}${selected}${moved}`;
}
