/** What one primary was measured to serve, by mix of reads and writes. Pure. */
import type { ResultRow } from "../results/rows";
import { resultRows } from "../results/rows";
import type { CapacityLoad, Results } from "../results/schema";

/** A figure of a run, and how far it can be trusted. */
export interface MeasuredCapacity {
  /** Requests per second that one primary serves at full speed: the lower end of the interval. */
  readonly perPrimary: number;
  /** The upper end. */
  readonly perPrimaryHigh: number;
  /** `GET of cluster, 20261121-090000` */
  readonly source: string;
  readonly mode: Results["topologies"][number]["mode"];
  /** Requests that its clients sent at a time. */
  readonly pipeline: number;
  /** True where something else than the servers was the limit: they serve at least this. */
  readonly isLowerBound: boolean;
  readonly ioThreads: number;
  readonly primaries: number;
  readonly row: ResultRow;
  readonly results: Results;
}

const READS = ["get"] as const;
const WRITES = ["set", "setex"] as const;
/** What makes a figure useless here, rather than too low. */
const SPOILT = new Set([
  "servers-unknown",
  "clocks-disagree",
  "too-short",
  "hit-ratio",
  "evictions",
  "errors",
  "ran-empty",
]);

/** Capacities of every deployment that was measured at full speed and without faults, reads or writes. */
export function measuredCapacities(all: readonly Results[], kind: "reads" | "writes"): MeasuredCapacity[] {
  const tests: readonly string[] = kind === "reads" ? READS : WRITES;
  return all.flatMap((results) =>
    resultRows(results).flatMap((row): MeasuredCapacity[] => {
      const topology = results.topologies.find(({ deployment }) => deployment === row.deployment);
      const primaries = topology?.nodes.filter(({ role }) => role === "primary").length ?? 0;
      const isSpoilt = row.warnings.some(({ code }) => SPOILT.has(code));
      // A mixed workload may be called like a test.
      if (
        !tests.includes(row.test) ||
        row.records.some(({ requestMix }) => requestMix !== null) ||
        primaries === 0 ||
        isSpoilt ||
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

/**
 * Of a mix: what an operation takes is what its parts take, so the times add up and the rates do not.
 * @param reads part of the requests, 0 … 1
 * @returns undefined where a part that is needed was not measured
 */
export function mixedCapacity(reads: number, get: number | undefined, set: number | undefined): number | undefined {
  if ((reads > 0 && get === undefined) || (reads < 1 && set === undefined)) return undefined;
  const seconds =
    (reads > 0 && get !== undefined ? reads / get : 0) + (reads < 1 && set !== undefined ? (1 - reads) / set : 0);
  return 1 / seconds;
}

/** The rate that an objective was measured to hold at. */
export interface SustainedRate {
  readonly perPrimary: number;
  readonly source: string;
  /** What was offered; null where it is not on record. */
  readonly load: CapacityLoad | null;
  /** True where no more was offered, or more connections would have held more. */
  readonly isLowerBound: boolean;
  /** Whether the machine was another meanwhile. */
  readonly machineChanged: boolean;
  readonly results: Results;
}

/** The load that is needed, as far as one that was offered can be like it. */
export interface ComparableLoad {
  readonly p99Ms: number;
  readonly reads: number;
  readonly valueSize: number;
  readonly pipeline: number;
  readonly ioThreads: number;
}

/** Parts of reads may differ by so much before a load is another. */
const READS_APART = 0.1;

/** Whether values are of about the size that is needed. */
export function isSimilarSize(dataSize: number, valueSize: number): boolean {
  return Math.abs(Math.log2(dataSize / valueSize)) <= 2;
}

/**
 * The rate at which 99 % were answered within the objective or a stricter one, by intended times, of loads like the one that is needed; where
 * there is none, of those whose load is not on record. What came at random counts before what came evenly spaced, for queues are of chance, and
 * what a moved reference load spoilt comes last; of those that are left the highest.
 * @returns undefined where nobody measured that
 */
export function sustainedRate(all: readonly Results[], need: ComparableLoad): SustainedRate | undefined {
  const held = all.flatMap((results) =>
    results.capacities.flatMap(
      ({ deployment, workload, load, objective, capacity, isOpenEnded, bottleneck, warnings }): SustainedRate[] => {
        const topology = results.topologies.find((each) => each.deployment === deployment);
        const primaries = topology?.nodes.filter(({ role }) => role === "primary").length ?? 0;
        if (Number(topology?.settings["io-threads"] ?? 1) !== need.ioThreads) return [];
        const isLike =
          load === null ||
          (load.requestMix.data === "strings" &&
            load.requestMix.readFrom === "primary" &&
            Math.abs(load.requestMix.reads - need.reads) <= READS_APART &&
            isSimilarSize(load.dataSize, need.valueSize) &&
            load.pipeline === need.pipeline);
        if (objective.quantile < 0.99 || objective.ms > need.p99Ms || primaries === 0 || capacity === 0 || !isLike)
          return [];
        const offered =
          load === null
            ? ""
            : `, ${load.keySpace.toLocaleString("en-US")} keys drawn ${load.requestMix.keys}, ${load.arrivals === "poisson" ? "at random times" : "evenly spaced"}`;
        const warned = warnings.length === 0 ? "" : ` (warnings: ${warnings.map(({ code }) => code).join(", ")})`;
        return [
          {
            perPrimary: capacity / primaries,
            load,
            isLowerBound: isOpenEnded || bottleneck?.at === "client",
            machineChanged: warnings.some(({ code }) => code === "reference-load-moved"),
            results,
            source: `${workload} of ${deployment}, ${results.timestamp}: ${Math.round(capacity).toLocaleString("en-US")}/s over ${primaries} ${primaries === 1 ? "primary" : "primaries"} with ${100 * objective.quantile} % below ${objective.ms} ms${offered}${warned}`,
          },
        ];
      },
    ),
  );
  const rank = ({ load, machineChanged }: SustainedRate): number =>
    Number(load?.arrivals !== "poisson") + 2 * Number(machineChanged) + 4 * Number(load === null);
  return held.sort((a, b) => rank(a) - rank(b) || b.perPrimary - a.perPrimary)[0];
}
