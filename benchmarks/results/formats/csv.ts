/** The first nine columns of results.csv have the names of the document "Valkey on EKS" (docs/sources.md). */
import { rowCost, storageCost } from "../cost";
import { type ResultRow, resultRows } from "../rows";
import type { Results } from "../schema";

type Cell = string | number | null;

/** Settings come from the first repeat, because they are equal in all repeats. */
const COLUMNS: readonly (readonly [name: string, value: (row: ResultRow, results: Results) => Cell])[] = [
  ["workload", ({ workload }) => workload],
  ["mode", ({ mode }) => mode],
  ["test", ({ title }) => title],
  ["rps", ({ rps }) => Math.round(rps.median)],
  ["p50_ms", ({ p50Ms }) => milliseconds(p50Ms)],
  ["clients", ({ records }) => records[0]?.clients ?? null],
  ["pipeline", ({ records }) => records[0]?.pipeline ?? null],
  ["datasize", ({ records }) => records[0]?.dataSize ?? null],
  ["timestamp", (_row, { timestamp }) => timestamp],
  ["avg_ms", ({ avgMs }) => milliseconds(avgMs)],
  ["p95_ms", ({ p95Ms }) => milliseconds(p95Ms)],
  ["p99_ms", ({ p99Ms }) => milliseconds(p99Ms)],
  ["max_ms", ({ maxMs }) => milliseconds(maxMs)],
  ["server_rps", ({ serverRps }) => (serverRps === null ? null : Math.round(serverRps))],
  ["hit_ratio", ({ hitRatio }) => (hitRatio === null ? null : hitRatio.toFixed(4))],
  ["repeats", ({ repeats }) => repeats],
  // A single repeat has no interval.
  ["rps_low", ({ rps }) => (rps.confidence === 0 ? null : Math.round(rps.low))],
  ["rps_high", ({ rps }) => (rps.confidence === 0 ? null : Math.round(rps.high))],
  ["client_cpu", ({ clientCpu }) => cores(clientCpu)],
  ["server_cpu", ({ serverCpu }) => cores(serverCpu)],
  ["usd_per_million", (row, results) => dollars(rowCost(results, row))],
  [
    "usd_per_gib_month",
    ({ deployment }, results) =>
      dollars(
        results.topologies.flatMap((each) => (each.deployment === deployment ? [storageCost(results, each)] : []))[0] ??
          null,
      ),
  ],
  ["warnings", ({ warnings }) => warnings.map(({ code }) => code).join(" ")],
];

/**
 * One line for each deployment and test. Unknown values are left empty. A latency can be a lower bound if the column
 * `warnings` has `latency-limit`.
 */
export function formatCsv(results: Results): string {
  const lines = resultRows(results).map((row) => COLUMNS.map(([, value]) => quote(value(row, results))).join(","));
  return [COLUMNS.map(([name]) => name).join(","), ...lines].map((line) => `${line}\n`).join("");
}

const milliseconds = (value: number): string => value.toFixed(3);
const dollars = (value: number | null): string | null => (value === null ? null : value.toPrecision(4));
const cores = (value: number | null): string | null => (value === null ? null : value.toFixed(2));

function quote(cell: Cell): string {
  const text = cell === null ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
