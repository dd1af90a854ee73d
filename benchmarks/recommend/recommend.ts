/** From measured capacity, a load and prices to a deployment, with the arithmetic. Pure. */
import { HOURS_PER_MONTH } from "../../lib/dollars";
import type { Results } from "../results/schema";
import type { MeasuredCapacity, SustainedRate } from "./capacity";
import { measuredCapacities, sustainedRate, isSimilarSize, mixedCapacity } from "./capacity";

/** What somebody needs. */
export interface Requirements {
  /** Requests per second at the busiest. */
  readonly rate: number;
  /** Part of them that read, 0 … 1. */
  readonly reads: number;
  /** Bytes of keys and values, each counted once. */
  readonly workingSet: number;
  /** Bytes of a typical value. */
  readonly valueSize: number;
  /** Requests that a client sends at a time on a connection; 1 is none of the next before the reply to the last. */
  readonly pipeline: number;
  /** Milliseconds that 99 % of the requests must be answered within, at a primary; undefined where it does not matter. */
  readonly p99Ms: number | undefined;
  readonly replicas: number;
}

/** A machine that can be had, one server on each. */
export interface PricedMachine {
  readonly type: string;
  readonly vcpus: number;
  /** Bytes that a pod can have. */
  readonly memoryBytes: number;
  readonly usdPerHour: number;
}

export interface DeploymentOption {
  readonly mode: "replication" | "cluster";
  readonly primaries: number;
  readonly replicas: number;
  readonly machine: PricedMachine;
  readonly ioThreads: number;
  readonly usdPerMonth: number;
  /** Part of what its primaries serve that the load takes. */
  readonly utilisation: number;
}

export interface Recommendation {
  /** Cheapest first; empty where there is not enough data, or nothing will do. */
  readonly options: readonly DeploymentOption[];
  readonly arithmetic: readonly string[];
  readonly assumptions: readonly string[];
  /** Why there is none. */
  readonly missing: readonly string[];
}

/** Part of a primary's capacity that is used at the busiest: the rest is for failovers, snapshots and growth. */
const USE = 0.7;
/** Part of a machine's memory for data: the rest is for buffers, fragmentation, and pages copied while a snapshot is written. */
const MEMORY_USE = 0.6;
/** Bytes an entry takes beside its key and value, and what a doubling table swings by: see `dataNeeded`. */
const ENTRY = 90;
const SWING = 1.13;
/** Bytes of a key where nobody says. */
const KEY = 20;
/** Most primaries that are tried. */
const MOST_PRIMARIES = 500;
const SHOWN = 5;
/** Rounds that an interval takes. */
const LEAST_REPEATS = 3;

export function recommend(
  need: Requirements,
  all: readonly Results[],
  offers: readonly PricedMachine[],
): Recommendation {
  const { chosen, missing } = chosenFor(need, all);
  const capacity = mixedCapacity(need.reads, chosen.get?.perPrimary, chosen.set?.perPrimary);
  const without = [...missing, ...(offers.length === 0 ? ["there are no prices"] : [])];
  if (capacity === undefined || without.length > 0)
    return { options: [], arithmetic: [], assumptions: [], missing: ["not enough data", ...without] };
  const used = [chosen.get, chosen.set].filter((each) => each !== undefined);
  const ioThreads = used[0]?.ioThreads ?? 1;
  const held = need.p99Ms === undefined ? undefined : sustainedRate(all, { ...need, p99Ms: need.p99Ms, ioThreads });
  const usable = usableRate(capacity, need, held);
  if (usable <= 0)
    return {
      options: [],
      arithmetic: [],
      assumptions: assumptionsOf(used, need, held, []),
      missing: [
        `p99 ≤ ${need.p99Ms ?? 0} ms cannot be kept by a primary that serves ${round(capacity)}/s, however little it is used`,
      ],
    };
  const bytes = dataNeeded(need);
  const options = offers
    .flatMap((offer) => optionOf(need, offer, usable, capacity, bytes, ioThreads) ?? [])
    .sort((a, b) => a.usdPerMonth - b.usdPerMonth || a.primaries - b.primaries)
    .slice(0, SHOWN);
  return {
    options,
    arithmetic: [
      ...capacityLines(need, chosen, capacity),
      ...rateLines(capacity, usable, need, held),
      memoryLine(need, bytes),
    ],
    assumptions: assumptionsOf(used, need, held, options),
    missing:
      options.length === 0 ? [`no machine in the price table will do with at most ${MOST_PRIMARIES} primaries`] : [],
  };
}

/** What is gone by: undefined where it is not needed. */
interface Chosen {
  readonly get: MeasuredCapacity | undefined;
  readonly set: MeasuredCapacity | undefined;
}

/** The figures for a load, and what they lack for it: what nobody batches is not served at the rate of batches. */
function chosenFor(
  { reads, valueSize, pipeline }: Requirements,
  all: readonly Results[],
): { readonly chosen: Chosen; readonly missing: readonly string[] } {
  const isFit = ({ row }: MeasuredCapacity): boolean =>
    row.repeats >= LEAST_REPEATS && isSimilarSize(row.records[0]?.dataSize ?? 0, valueSize);
  const measured = (kind: "reads" | "writes"): MeasuredCapacity[] => {
    const alike = measuredCapacities(all, kind).filter((each) => each.pipeline === pipeline);
    // A better figure that will not do is no reason to go without one that will.
    const fit = alike.filter(isFit);
    return fit.length === 0 ? alike : fit;
  };
  const get = reads > 0 ? bestOf(measured("reads")) : undefined;
  const set =
    reads < 1
      ? bestOf(measured("writes").filter(({ ioThreads }) => get === undefined || ioThreads === get.ioThreads))
      : undefined;
  const lacking = (what: string, kind: "reads" | "writes", fault: string): string => {
    const others = [
      ...new Set(
        measuredCapacities(all, kind).map((each) =>
          each.pipeline === pipeline ? `io-threads ${each.ioThreads}` : `pipeline ${each.pipeline}`,
        ),
      ),
    ].sort();
    const instead = others.length === 0 ? "" : `, but at ${others.join(" and ")}`;
    return `no ${what} was measured at full speed${fault}, at pipeline ${pipeline}${what === "SET" && get !== undefined ? ` and io-threads ${get.ioThreads}` : ""}${instead} (npm start -- --tests ${what.toLowerCase()} --pipeline ${pipeline})`;
  };
  const missing = [
    ...(reads > 0 && get === undefined ? [lacking("GET", "reads", ", with hits and without errors")] : []),
    ...(reads < 1 && set === undefined ? [lacking("SET", "writes", " and without errors")] : []),
    ...[get, set]
      .filter((each) => each !== undefined)
      .flatMap(({ source, row }) => [
        ...(row.repeats < LEAST_REPEATS
          ? [
              `${source}: ${row.repeats} ${row.repeats === 1 ? "round is" : "rounds are"} too few for an interval (--repeats 6)`,
            ]
          : []),
        ...row.records
          .slice(0, 1)
          .flatMap(({ dataSize }) =>
            isSimilarSize(dataSize, valueSize)
              ? []
              : [
                  `${source} had values of ${dataSize} B, more than four times off the ${valueSize} B that are needed (--datasize ${valueSize})`,
                ],
          ),
      ]),
  ];
  return { chosen: { get, set }, missing };
}

/** The fewest io-threads that no other number is shown to beat: threads spin, and take a larger machine. Of each number the most that was measured. */
function bestOf(capacities: readonly MeasuredCapacity[]): MeasuredCapacity | undefined {
  const most = [...capacities].sort((a, b) => b.perPrimary - a.perPrimary);
  const ladder = [...new Set(most.map(({ ioThreads }) => ioThreads))]
    .sort((a, b) => a - b)
    .flatMap((threads) => most.find(({ ioThreads }) => ioThreads === threads) ?? []);
  return ladder.find((each) => ladder.every((other) => other.perPrimary <= each.perPrimaryHigh));
}

/** What was measured to hold the objective, else what a model says. */
function usableRate(capacity: number, { p99Ms, pipeline }: Requirements, held: SustainedRate | undefined): number {
  if (p99Ms === undefined) return USE * capacity;
  const model = modelled(capacity, p99Ms, pipeline);
  return Math.min(
    USE * capacity,
    held === undefined ? model : held.isLowerBound ? Math.max(held.perPrimary, model) : held.perPrimary,
  );
}

/** By the p99 of a queue with random arrivals and times of service (M/M/1), in which batches stand: ln(100) / (batches it serves − batches that come). */
function modelled(capacity: number, p99Ms: number, pipeline: number): number {
  return capacity - (pipeline * Math.log(100)) / (p99Ms / 1000);
}

function dataNeeded({ workingSet, valueSize }: Requirements): number {
  const entries = workingSet / (KEY + valueSize);
  return (workingSet + entries * ENTRY) * SWING;
}

function optionOf(
  need: Requirements,
  offer: PricedMachine,
  usable: number,
  capacity: number,
  bytes: number,
  ioThreads: number,
): DeploymentOption | undefined {
  // Threads spin: one core stays free of them.
  const threads = Math.max(1, Math.min(ioThreads, offer.vcpus - 1));
  if (threads < ioThreads || offer.vcpus < 2) return undefined;
  const least = Math.max(Math.ceil(need.rate / usable), Math.ceil(bytes / (offer.memoryBytes * MEMORY_USE)), 1);
  const primaries = least === 1 ? 1 : Math.max(3, least);
  if (primaries > MOST_PRIMARIES) return undefined;
  const nodes = primaries * (1 + need.replicas);
  return {
    mode: primaries === 1 ? "replication" : "cluster",
    primaries,
    replicas: need.replicas,
    machine: offer,
    ioThreads: threads,
    usdPerMonth: nodes * offer.usdPerHour * HOURS_PER_MONTH,
    utilisation: need.rate / (primaries * capacity),
  };
}

function capacityLines({ reads }: Requirements, { get, set }: Chosen, capacity: number): string[] {
  const line = (what: string, each: MeasuredCapacity | undefined): string[] =>
    each === undefined
      ? []
      : [
          `${what}: ${each.source}, pipeline ${each.pipeline}, io-threads ${each.ioThreads}: ${round(each.row.rps.low)}/s over ${each.primaries} ${each.primaries === 1 ? "primary" : "primaries"} = ${round(each.perPrimary)}/s each (lower end of the interval)${each.isLowerBound ? ", at least: the servers were not the limit" : ""}`,
        ];
  const mix =
    reads > 0 && reads < 1
      ? [
          `mix of ${percent(reads)} reads: 1 / (${reads} / ${round(get?.perPrimary ?? 0)} + ${Number((1 - reads).toFixed(4))} / ${round(set?.perPrimary ?? 0)}) = ${round(capacity)}/s for each primary`,
        ]
      : [];
  return [...(reads > 0 ? line("reads", get) : []), ...(reads < 1 ? line("writes", set) : []), ...mix];
}

function rateLines(
  capacity: number,
  usable: number,
  { p99Ms, rate, pipeline }: Requirements,
  held: SustainedRate | undefined,
): string[] {
  const measured =
    p99Ms === undefined || held === undefined
      ? []
      : [
          `p99 ≤ ${p99Ms} ms, measured: ${held.source} = ${round(held.perPrimary)}/s ${held.isLowerBound ? "at least: no more was offered, or the load generator was the limit" : "at most"}`,
        ];
  const model =
    p99Ms === undefined || held?.isLowerBound === false
      ? []
      : [
          `p99 ≤ ${p99Ms} ms: ${round(capacity)}/s − ${pipeline === 1 ? "" : `${pipeline} × `}ln(100) / ${p99Ms} ms = ${round(modelled(capacity, p99Ms, pipeline))}/s at most`,
        ];
  return [
    ...measured,
    ...model,
    `usable: ${percent(USE)} of ${round(capacity)}/s${p99Ms === undefined ? "" : ", or what the objective leaves"} = ${round(usable)}/s for each primary`,
    `primaries for the rate: ${round(rate)} / ${round(usable)} → ${Math.ceil(rate / usable)}`,
  ];
}

function memoryLine({ workingSet, valueSize }: Requirements, bytes: number): string {
  const gib = (value: number): string => `${(value / 1024 ** 3).toFixed(1)} GiB`;
  return `memory: ${gib(workingSet)} in entries of ${KEY} + ${valueSize} B, ${ENTRY} B more for each, and ${percent(SWING - 1)} for a table that doubles = ${gib(bytes)}; at most ${percent(MEMORY_USE)} of a machine's`;
}

function assumptionsOf(
  used: readonly MeasuredCapacity[],
  { p99Ms, replicas, pipeline }: Requirements,
  held: SustainedRate | undefined,
  options: readonly DeploymentOption[],
): string[] {
  const modes = new Set(used.map(({ mode }) => mode));
  const elsewhere = [...new Set(options.map(({ mode }) => mode))].filter((mode) => !modes.has(mode));
  const measured = [...used, ...(held === undefined ? [] : [held])];
  const machines = [
    ...new Set(
      measured.map(
        ({ results: { environment } }) =>
          environment.machines[0]?.instanceType ?? `${environment.cpuModel} (${environment.coresAvailable} cores)`,
      ),
    ),
  ];
  return [
    `a primary serves on the recommended machine what it served where it was measured: ${machines.join(", ")}`,
    `clients send ${pipeline === 1 ? "one request at a time" : `${pipeline} requests at a time`} on each connection, and have connections enough`,
    ...elsewhere.map(
      (mode) =>
        `a primary serves as much ${mode === "cluster" ? "in a cluster as in replication, where it was measured" : "in replication as in a cluster, where it was measured"}`,
    ),
    "keys and calls are spread evenly over the primaries, and no key is hotter than a primary can serve",
    "all reads go to primaries; replicas are for failover",
    ...(used.some(({ isLowerBound }) => isLowerBound)
      ? [
          "the servers were not the limit where they were measured: they serve more, and fewer or smaller machines may do",
        ]
      : []),
    ...(used.some(({ results: { study } }) => study?.referenceLoadMoved === true) ||
    used.some(({ row }) => row.warnings.some(({ code }) => code === "reference-load-moved")) ||
    held?.machineChanged === true
      ? ["the machine was not the same throughout its measurements"]
      : []),
    ...(held === undefined || held.load !== null
      ? []
      : ["the load whose latency was measured is like the one that is needed: it is not on record"]),
    ...(held?.load?.arrivals === "fixed"
      ? [
          "requests come as evenly spaced as those whose latency was measured did: independent users' come in bunches, and less is held (arrivals: poisson)",
        ]
      : []),
    ...(p99Ms === undefined || held?.isLowerBound === false
      ? []
      : [
          `${pipeline === 1 ? "requests" : "batches"} come at random and are served one by one (M/M/1), the network's time is not counted; a capacity of such a load under the objective replaces this`,
        ]),
    `${percent(1 - USE)} of each primary's capacity is kept free; one server on a machine, ${replicas} ${replicas === 1 ? "replica" : "replicas"} each`,
    "prices are on demand; volumes, control plane, and traffic between zones come on top",
  ];
}

function round(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function percent(part: number): string {
  return `${Number((100 * part).toFixed(1))} %`;
}
