import { textTable } from "../../lib/table";
import { formatBytes, formatCount } from "../../lib/units";
import type { Catalog, CatalogPeriod, Span } from "../../backup/archive/catalog";
import { formatTime, readCatalog, setsOf, wholeMilliseconds } from "../../backup/archive/catalog";
import { type FailedDrill, type Proof, readLastFailedDrill, readLastProof } from "../../backup/archive/keeping/proofs";
import { openPlace } from "../../backup/archive/bucket/open-place";
import { print } from "../terminal/terminal";
import type { OptionValues } from "../running/options";

export async function printBackups(location: string, values: OptionValues, signal: AbortSignal): Promise<number> {
  const place = await openPlace("backups", location, values, signal);
  const catalog = await readCatalog(place);
  const proof = await readLastProof(place, setsOf(catalog));
  const failed = await readLastFailedDrill(place);
  if (values["json"] === true) {
    const results = { lastProof: proofRecord(proof), lastFailedDrill: failedRecord(failed) };
    print(JSON.stringify({ ...recordOf(catalog), ...results }, null, 1));
  } else print(...formatCatalog(catalog), formatProof(proof), ...formatFailedDrill(failed, proof));
  const hasTime = catalog.periods.some(({ spans }) => spans.length > 0);
  return hasTime && catalog.damaged.length === 0 ? 0 : 1;
}

export function formatCatalog({ owner, periods, damaged }: Catalog): string[] {
  return [
    `Archive of ${owner.deployment}, ${owner.mode} mode, ${owner.nodes.join(" ")}`,
    ...periods.flatMap(formatPeriod),
    ...(periods.length === 0 ? ["There are no sets yet."] : []),
    ...damaged.map(({ text }) => `DAMAGED ${text}`),
  ];
}

function formatProof(proof: Proof | undefined): string {
  if (proof === undefined) return "Never restored with proof";
  const instant = Math.max(...proof.shards.map((each) => each.instant));
  return (
    `Last restored with proof at ${formatTime(proof.provenAt)}: ` +
    `${formatCount(proof.keys)} keys as of ${formatTime(instant)}`
  );
}

function formatFailedDrill(failed: FailedDrill | undefined, proof: Proof | undefined): string[] {
  if (failed === undefined || failed.failedAt < (proof?.provenAt ?? 0)) return [];
  return [`The last drill failed at ${formatTime(failed.failedAt)}: ${failed.reason}`];
}

function failedRecord(failed: FailedDrill | undefined): object | null {
  return failed === undefined ? null : { at: formatTime(failed.failedAt), reason: failed.reason };
}

function proofRecord(proof: Proof | undefined): object | null {
  if (proof === undefined) return null;
  const { provenAt, period, keys, shards } = proof;
  const sets = shards.map(({ instant, ...names }) => ({ ...names, instant: formatTime(instant) }));
  return { at: formatTime(provenAt), period, keys, sets };
}

const COLUMNS = ["SHARD", "SLOTS", "FROM", "TO", "KEYS OF BASE", "SIZE", "SERVER"];

function formatPeriod({ period, shards, ...common }: CatalogPeriod): string[] {
  const spans = common.spans.map(wholeMilliseconds);
  const rows = shards.flatMap(({ name, slots = "-", sets }) =>
    sets.map(({ set, bytes, ...ofSet }) => {
      const own = ofSet.spans.map(wholeMilliseconds);
      return [
        name,
        slots,
        own.length === 0 ? "no instant yet" : formatTime(Math.min(...own.map(({ from }) => from))),
        formatTime(own.length === 0 ? set.base.startedAt : Math.max(...own.map(({ to }) => to))),
        formatCount(set.base.keys),
        formatBytes(bytes),
        set.base.serverVersion,
      ];
    }),
  );
  const end = period.endedAt === undefined ? "" : `, until slots moved at ${formatTime(period.endedAt)}`;
  return [
    "",
    `=== Period ${period.name}${end} ===`,
    ...textTable([COLUMNS, ...rows], "lllrrrl"),
    ...spans.map(({ from, to }) => `Can be restored: any time from ${formatTime(from)} to ${formatTime(to)}`),
    ...(spans.length === 0 ? ["Cannot be restored yet: no time has an instant of every shard"] : []),
  ];
}

function recordOf({ owner, periods, damaged }: Catalog): object {
  const times = (span: Span): object => {
    const { from, to } = wholeMilliseconds(span);
    return { from: formatTime(from), to: formatTime(to) };
  };
  return {
    owner,
    periods: periods.map(({ period, shards, spans }) => ({
      name: period.name,
      endedAt: period.endedAt === undefined ? null : formatTime(period.endedAt),
      restorable: spans.map(times),
      shards: shards.map(({ name, slots = null, sets }) => ({
        name,
        slots,
        sets: sets.map(({ set, spans: own, bytes }) => ({
          name: set.name,
          restorable: own.map(times),
          bytes,
          keysOfBase: set.base.keys,
          serverVersion: set.base.serverVersion,
          format: set.base.format,
        })),
      })),
    })),
    damaged: damaged.map(({ text }) => text),
  };
}
