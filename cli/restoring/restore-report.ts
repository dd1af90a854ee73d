import { textTable } from "../../lib/table";
import { counted, formatCount } from "../../lib/units";
import { type ServerComparison, differencesOf } from "../../backup/restoring/compare-servers";
import { type Restore, formatTime } from "../../backup/archive/catalog";
import type { TtlRule } from "../../model/backup";
import type { KeySelection } from "../../backup/restoring/key-selection";
import type { RestoreShape } from "../../backup/restoring/restore-shape";
import { formatRanges } from "../../valkey/topology/slots";

export interface ReportedOrder {
  readonly restored: Pick<Restore, "owner" | "shards">;
  readonly shape: Pick<RestoreShape, "shards" | "isArchived">;
  readonly keys: Pick<KeySelection, "patterns">;
  readonly ttl: TtlRule;
}

export function formatComparisons(
  { restored: { owner, shards }, shape, keys: { patterns }, ttl }: ReportedOrder,
  comparisons: readonly ServerComparison[],
): string[] {
  const times = shards.map(({ point }) => point.at);
  const spread = Math.ceil(Math.max(...times) - Math.min(...times));
  const first = new Map(comparisons.toReversed().map(({ shard, comparison }) => [shard, comparison]));
  const count = [...first.values()].reduce((sum, each) => sum + each.keys[0], 0);
  const expired = [...first.values()].reduce((sum, each) => sum + each.expired, 0);
  const left = expired === 0 ? "" : `; ${counted(expired, "key")} that expired since the instant were not compared`;
  const into = shape.isArchived ? "" : `, now in ${counted(shape.shards.length, "shard")}`;
  const matching = patterns.length === 0 ? "" : ` (${patterns.join(", ")})`;
  const moved = ttl === "absolute" ? "" : ", with TTLs that are later by the time since the instant";
  const unequal = comparisons.filter(({ comparison }) => !comparison.isEqual);
  const verdict =
    comparisons.length === 0
      ? "FAIL — the servers were not compared, because verification failed"
      : unequal.length === 0
        ? `PASS — ${counted(count, "key")}${matching} of ${counted(shards.length, "shard")}${into}: ` +
          `every key, value and TTL is the same as in the archive${moved}${left}`
        : `FAIL — ${unequal.map(({ server }) => server).join(", ")}: not the same data as in the archive`;
  return [
    ...(shape.isArchived ? [] : instantsTable(shards)),
    ...serversTable(shards, shape, comparisons),
    ...(shards.length > 1 ? [`The instants of the shards are within ${spread} ms.`] : []),
    ...unequal.flatMap(differencesOf),
    `RESTORE ${owner.deployment}: ${verdict}.`,
  ];
}

function instantsTable(shards: Restore["shards"]): string[] {
  const rows = shards.map(({ name, slots, point }) => [name, slots ?? "all", formatTime(point.at)]);
  return [...textTable([["ARCHIVED SHARD", "SLOTS", "INSTANT"], ...rows], "lll"), ""];
}

/** The second column has the restored instant, or the shard's slots if the restore changed the shards. */
function serversTable(
  shards: Restore["shards"],
  shape: Pick<RestoreShape, "shards" | "isArchived">,
  comparisons: readonly ServerComparison[],
): string[] {
  const instantOf = new Map(shards.map(({ name, point }) => [name, formatTime(point.at)]));
  const slots = new Map(shape.shards.map((ranges, index) => [`shard-${index}`, formatRanges(ranges)]));
  const rows = comparisons.map(({ shard, server, comparison: { keys, expired, differing, libraries } }) => [
    shard,
    (shape.isArchived ? instantOf : slots).get(shard) ?? "",
    server,
    formatCount(keys[1]),
    formatCount(expired),
    formatCount(differing + libraries.length),
  ]);
  const second = shape.isArchived ? "INSTANT" : "SLOTS";
  return textTable([["SHARD", second, "SERVER", "KEYS", "EXPIRED SINCE", "DIFFERENT"], ...rows], "lllrrr");
}
