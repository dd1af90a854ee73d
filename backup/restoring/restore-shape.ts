import type { Mode } from "../../valkey/node";
import { majorVersion } from "../../valkey/settings/version";
import { type SlotRange, SLOT_COUNT, distributeSlots, parseRange } from "../../valkey/topology/slots";
import type { Restore } from "../archive/catalog";
import { type Period, modeOf } from "../archive/periods";

export interface RestoreShape {
  readonly mode: Mode;
  /** In replication mode, one shard has all slots. */
  readonly shards: readonly (readonly SlotRange[])[];
  readonly isArchived: boolean;
}

const ALL_SLOTS: readonly SlotRange[] = [{ from: 0, to: SLOT_COUNT - 1 }];
/** Lowest number of shards in a cluster: with fewer primaries, there is no majority after a failure. */
const FEWEST = 3;
const CLUSTER_DATABASES_SINCE = 9;

export function slotsOf({ slots }: { readonly slots?: string | undefined }): readonly SlotRange[] {
  return slots === undefined ? ALL_SLOTS : slots.split(" ").map(parseRange);
}

/** A change to cluster mode gives three shards by default. @returns the reason why the mode has not this number */
export function chooseShape(
  period: Pick<Period, "shards">,
  wanted: { readonly mode?: Mode | undefined; readonly shards?: number | undefined },
): RestoreShape | string {
  const archived = modeOf(period);
  const mode = wanted.mode ?? archived;
  const count = wanted.shards ?? (mode === "cluster" ? Math.max(FEWEST, period.shards.length) : 1);
  if (mode === "replication" && count !== 1)
    return `--shards is ${count}: in replication mode, a deployment has one shard; with --mode cluster, it has 3 or more`;
  if (mode === "cluster" && count < FEWEST)
    return `--shards is ${count}: a cluster has at least ${FEWEST} shards; with --mode replication, a deployment has one`;
  const isArchived = mode === archived && count === period.shards.length;
  if (isArchived) return { mode, shards: period.shards.map(slotsOf), isArchived };
  return {
    mode,
    shards: mode === "cluster" ? distributeSlots(count).map((range) => [range]) : [ALL_SLOTS],
    isArchived,
  };
}

/** Databases other than 0 in archived commands, ascending. RDB files can have keys in further databases. */
export function namedDatabases({
  shards,
}: {
  readonly shards: readonly Pick<Restore["shards"][number], "set">[];
}): number[] {
  const named = shards.flatMap(({ set: { base, increments } }) => [
    base.database,
    ...increments.flatMap(({ databaseBefore, database }) => [databaseBefore, database]),
  ]);
  return [...new Set(named)].filter((database) => database > 0).sort((a, b) => a - b);
}

export function databasesProblem(mode: Mode, databases: readonly number[], version: string): string | undefined {
  const others = databases.filter((database) => database > 0);
  if (mode === "replication" || others.length === 0 || (majorVersion(version) ?? 0) >= CLUSTER_DATABASES_SINCE)
    return undefined;
  return (
    `the archive has keys in ${others.length === 1 ? "database" : "databases"} ${others.join(", ")}, and a cluster of ` +
    `Valkey ${version} on this machine has only database 0; use --mode replication, or set VALKEY_HOME to Valkey 9 or newer`
  );
}
