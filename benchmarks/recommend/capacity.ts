import { counted, formatCount } from "../../lib/units";
import { type ResultRow, resultRows } from "../results/rows";
import type { CapacityLoad, CapacityRecord, Results } from "../results/schema";

export interface MeasuredCapacity {
  /** Lower end of the confidence interval: requests per second of one primary at full speed. */
  readonly perPrimary: number;
  readonly perPrimaryHigh: number;
  readonly source: string;
  readonly mode: Results["topologies"][number]["mode"];
  readonly pipeline: number;
  /** True if the servers were not the bottleneck: their capacity is at least the measured rate. */
  readonly isLowerBound: boolean;
  readonly ioThreads: number;
  readonly primaries: number;
  readonly row: ResultRow;
  readonly results: Results;
}

const READS = ["get"] as const;
const WRITES = ["set", "setex"] as const;
/** All other warnings mean at most that the rate is too low. */
const UNUSABLE = new Set([
  "servers-unknown",
  "clocks-disagree",
  "too-short",
  "hit-ratio",
  "evictions",
  "errors",
  "ran-empty",
]);

export function measuredCapacities(all: readonly Results[], kind: "reads" | "writes"): MeasuredCapacity[] {
  const tests: readonly string[] = kind === "reads" ? READS : WRITES;
  return all.flatMap((results) =>
    resultRows(results).flatMap((row): MeasuredCapacity[] => {
      const topology = results.topologies.find(({ deployment }) => deployment === row.deployment);
      const primaries = topology?.nodes.filter(({ role }) => role === "primary").length ?? 0;
      const isUnusable = row.warnings.some(({ code }) => UNUSABLE.has(code));
      // A mixed workload may have the same name as a test, so mixed workloads are recognized by their request mix.
      if (
        !tests.includes(row.test) ||
        row.records.some(({ requestMix }) => requestMix !== null) ||
        primaries === 0 ||
        isUnusable ||
        row.records.some(({ rate }) => rate !== null)
      )
        return [];
      const isLeast = row.warnings.some(
        ({ code }) =>
          code === "machine-bound" || code === "client-bound" || code === "few-connections" || code === "neighbour",
      );
      return [
        {
          perPrimary: row.rps.low / primaries,
          perPrimaryHigh: row.rps.high / primaries,
          source: `${row.title} of ${row.deployment}, ${results.timestamp}`,
          mode: row.mode,
          pipeline: row.records[0]?.pipeline ?? 1,
          isLowerBound: isLeast,
          ioThreads: Number(topology?.settings["io-threads"] ?? 1),
          primaries,
          row,
          results,
        },
      ];
    }),
  );
}

/** From the time for one read and one write, because times can be added and rates cannot. @param reads 0 to 1 */
export function mixedCapacity(reads: number, get: number | undefined, set: number | undefined): number | undefined {
  if ((reads > 0 && get === undefined) || (reads < 1 && set === undefined)) return undefined;
  const seconds =
    (reads > 0 && get !== undefined ? reads / get : 0) + (reads < 1 && set !== undefined ? (1 - reads) / set : 0);
  return 1 / seconds;
}

export interface SustainedRate {
  readonly perPrimary: number;
  readonly source: string;
  readonly load: CapacityLoad | null;
  /** True if the search could not find an upper limit: it was open-ended, or the client was the bottleneck. */
  readonly isLowerBound: boolean;
  readonly machineChanged: boolean;
  readonly results: Results;
}

interface ComparableLoad {
  readonly p99Ms: number;
  readonly reads: number;
  readonly valueSize: number;
  readonly pipeline: number;
  readonly ioThreads: number;
}

const READS_APART = 0.1;

export function isSimilarSize(dataSize: number, valueSize: number): boolean {
  return Math.abs(Math.log2(dataSize / valueSize)) <= 2;
}

/**
 * Prefers searches with a similar load, then an unchanged reference load, then random arrivals, because evenly spaced
 * arrivals make queues shorter.
 * @returns undefined if no search fits
 */
export function sustainedRate(all: readonly Results[], need: ComparableLoad): SustainedRate | undefined {
  const rates = all.flatMap((results) =>
    results.capacities
      .filter(({ objective, load }) => isStrictEnough(objective, need) && isSimilarLoad(load, need))
      .flatMap((capacity) => rateOf(capacity, results, need.ioThreads) ?? []),
  );
  const rank = ({ load, machineChanged }: SustainedRate): number =>
    Number(load?.arrivals !== "poisson") + 2 * Number(machineChanged) + 4 * Number(load === null);
  return rates.sort((a, b) => rank(a) - rank(b) || b.perPrimary - a.perPrimary)[0];
}

function isStrictEnough({ quantile, ms }: CapacityRecord["objective"], { p99Ms }: ComparableLoad): boolean {
  return quantile >= 0.99 && ms <= p99Ms;
}

/** A load that was not recorded counts as similar. */
function isSimilarLoad(load: CapacityLoad | null, need: ComparableLoad): boolean {
  if (load === null) return true;
  const { requestMix, dataSize, pipeline } = load;
  const isSameKind = requestMix.data === "strings" && requestMix.readFrom === "primary";
  const isSimilarMix = Math.abs(requestMix.reads - need.reads) <= READS_APART;
  return isSameKind && isSimilarMix && isSimilarSize(dataSize, need.valueSize) && pipeline === need.pipeline;
}

/** Undefined if no rate met the objective, or if the servers had a different number of io-threads. */
function rateOf(record: CapacityRecord, results: Results, ioThreads: number): SustainedRate | undefined {
  const { deployment, workload, load, objective, capacity, isOpenEnded, bottleneck, warnings } = record;
  const topology = results.topologies.find((each) => each.deployment === deployment);
  const primaries = topology?.nodes.filter(({ role }) => role === "primary").length ?? 0;
  const hasThreads = Number(topology?.settings["io-threads"] ?? 1) === ioThreads;
  if (!hasThreads || primaries === 0 || capacity === 0) return undefined;
  const codes = warnings.map(({ code }) => code);
  const rate = `${formatCount(capacity)}/s over ${counted(primaries, "primary", "primaries")}`;
  const met = `${100 * objective.quantile} % below ${objective.ms} ms`;
  const warned = codes.length === 0 ? "" : ` (warnings: ${codes.join(", ")})`;
  return {
    perPrimary: capacity / primaries,
    load,
    isLowerBound: isOpenEnded || bottleneck?.at === "client",
    machineChanged: codes.includes("reference-load-moved"),
    results,
    source: `${workload} of ${deployment}, ${results.timestamp}: ${rate} with ${met}${describeLoad(load)}${warned}`,
  };
}

function describeLoad(load: CapacityLoad | null): string {
  if (load === null) return "";
  const arrivals = load.arrivals === "poisson" ? "at random times" : "evenly spaced";
  return `, ${formatCount(load.keySpace)} keys (${load.requestMix.keys}), requests ${arrivals}`;
}
