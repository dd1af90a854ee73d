/** Recommends a deployment from measured capacity, a load and prices, with the arithmetic. Pure. */
import { counted, formatCount, formatPercent } from "../../lib/units";
import { HOURS_PER_MONTH } from "../../lib/dollars";
import type { Results } from "../results/schema";
import type { MeasuredCapacity, SustainedRate } from "./capacity";
import { measuredCapacities, sustainedRate, isSimilarSize, mixedCapacity } from "./capacity";
import { COMMAND } from "../../lib/system/package";

/** The load and data that a deployment has to serve. */
export interface Requirements {
  /** Peak requests per second. */
  readonly rate: number;
  /** Part of the requests that read, 0 … 1. */
  readonly reads: number;
  /** Bytes of keys and values, each counted once. */
  readonly workingSet: number;
  /** Bytes of a typical value. */
  readonly valueSize: number;
  /** Requests that a client sends before it waits for replies; 1 if it does not pipeline. */
  readonly pipeline: number;
  /** Objective for the 99th percentile of latency at a primary, milliseconds; undefined for none. */
  readonly p99Ms: number | undefined;
  readonly replicas: number;
}

/** A machine type with its price; each machine runs one server. */
export interface PricedMachine {
  readonly type: string;
  /** `arm64` or `amd64` */
  readonly architecture: string;
  readonly vcpus: number;
  /** Bytes that a pod can request. */
  readonly memoryBytes: number;
  readonly usdPerHour: number;
}

/** A deployment that meets the requirements. */
export interface DeploymentOption {
  readonly mode: "replication" | "cluster";
  readonly primaries: number;
  readonly replicas: number;
  readonly machine: PricedMachine;
  readonly ioThreads: number;
  readonly usdPerMonth: number;
  /** The load as a part of the capacity of all primaries. */
  readonly utilisation: number;
}

/** Options with their reasons, or what is missing. */
export interface Recommendation {
  /** Cheapest first; empty where data are missing or no machine fits. */
  readonly options: readonly DeploymentOption[];
  readonly arithmetic: readonly string[];
  readonly assumptions: readonly string[];
  /** Why there is no option. */
  readonly missing: readonly string[];
}

/** Part of a primary's capacity that the peak load may use; the rest is for failovers, snapshots and growth. */
const USE = 0.7;
/** Part of a machine's memory for data; the rest is for buffers, fragmentation and copy-on-write of snapshots. */
const MEMORY_USE = 0.6;
/** Bytes an entry takes beside its key and value, and what a doubling table swings by: see `dataNeeded`. */
const ENTRY = 90;
const SWING = 1.13;
/** Assumed bytes of a key. */
const KEY = 20;
/** Limit of primaries per option. */
const MAX_PRIMARIES = 500;
/** Number of options in a recommendation. */
const MAX_OPTIONS = 5;
/** An interval needs this many rounds. */
const MIN_REPEATS = 3;

/** Options for the requirements from all results, cheapest first. */
export function recommend(
  need: Requirements,
  all: readonly Results[],
  offers: readonly PricedMachine[],
): Recommendation {
  const { chosen, missing } = chosenFor(need, all);
  const capacity = mixedCapacity(need.reads, chosen.get?.perPrimary, chosen.set?.perPrimary);
  const without = [...missing, ...(offers.length === 0 ? ["no prices of machines are known"] : [])];
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
        `a primary with a capacity of ${formatCount(capacity)}/s cannot meet p99 ≤ ${need.p99Ms ?? 0} ms at any load`,
      ],
    };
  const bytes = dataNeeded(need);
  const options = alikeOffers(offers, [...used, ...(held === undefined ? [] : [held])])
    .flatMap((offer) => optionOf(need, offer, usable, capacity, bytes, ioThreads) ?? [])
    .sort((a, b) => a.usdPerMonth - b.usdPerMonth || a.primaries - b.primaries)
    .slice(0, MAX_OPTIONS);
  return {
    options,
    arithmetic: [
      ...capacityLines(need, chosen, capacity),
      ...rateLines(capacity, usable, need, held),
      memoryLine(need, bytes),
    ],
    assumptions: assumptionsOf(used, need, held, options),
    missing: options.length === 0 ? [`no machine of the price table fits with at most ${MAX_PRIMARIES} primaries`] : [],
  };
}

/** Offers of the architecture that was measured: a primary does not serve as much on another one. All, where it is open. */
function alikeOffers(
  offers: readonly PricedMachine[],
  measured: readonly { readonly results: Results }[],
): readonly PricedMachine[] {
  const platforms = measured.flatMap(({ results: { environment } }) =>
    environment.machines.length > 0 ? environment.machines.map(({ platform }) => platform) : [environment.platform],
  );
  const architectures = new Set(
    platforms.map((platform) =>
      /arm64$/.test(platform) ? "arm64" : /(amd64|x64)$/.test(platform) ? "amd64" : platform,
    ),
  );
  const alike = offers.filter(({ architecture }) => architectures.has(architecture));
  return alike.length > 0 ? alike : offers;
}

/** The capacities that a recommendation uses; undefined where one is not needed. */
interface Chosen {
  readonly get: MeasuredCapacity | undefined;
  readonly set: MeasuredCapacity | undefined;
}

/** Chooses capacities for a load, and lists what is missing. A capacity with pipelining says nothing without it. */
function chosenFor(
  { reads, valueSize, pipeline }: Requirements,
  all: readonly Results[],
): { readonly chosen: Chosen; readonly missing: readonly string[] } {
  const isFit = ({ row }: MeasuredCapacity): boolean =>
    row.repeats >= MIN_REPEATS && isSimilarSize(row.records[0]?.dataSize ?? 0, valueSize);
  const measured = (kind: "reads" | "writes"): MeasuredCapacity[] => {
    const alike = measuredCapacities(all, kind).filter((each) => each.pipeline === pipeline);
    // A higher capacity that does not fit must not hide a lower one that fits.
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
    const threads = what === "SET" && get !== undefined ? ` and io-threads ${get.ioThreads}` : "";
    const command = `${COMMAND} --tests ${what.toLowerCase()} --pipeline ${pipeline}`;
    return `no ${what} was measured at full speed${fault}, at pipeline ${pipeline}${threads}${instead} (${command})`;
  };
  const missing = [
    ...(reads > 0 && get === undefined ? [lacking("GET", "reads", ", with hits and without errors")] : []),
    ...(reads < 1 && set === undefined ? [lacking("SET", "writes", " and without errors")] : []),
    ...[get, set]
      .filter((each) => each !== undefined)
      .flatMap(({ source, row }) => [
        ...(row.repeats < MIN_REPEATS
          ? [`${source}: ${counted(row.repeats, "round is", "rounds are")} too few for an interval (--repeats 6)`]
          : []),
        ...row.records
          .slice(0, 1)
          .flatMap(({ dataSize }) =>
            isSimilarSize(dataSize, valueSize)
              ? []
              : [
                  `${source} had values of ${dataSize} B; needed are ${valueSize} B, ` +
                    `within a factor of four (--datasize ${valueSize})`,
                ],
          ),
      ]),
  ];
  return { chosen: { get, set }, missing };
}

/**
 * The capacity with the fewest io-threads that no other number beats: idle threads spin and need a larger machine.
 * Of each number of threads the highest capacity counts.
 */
function bestOf(capacities: readonly MeasuredCapacity[]): MeasuredCapacity | undefined {
  const most = [...capacities].sort((a, b) => b.perPrimary - a.perPrimary);
  const ladder = [...new Set(most.map(({ ioThreads }) => ioThreads))]
    .sort((a, b) => a - b)
    .flatMap((threads) => most.find(({ ioThreads }) => ioThreads === threads) ?? []);
  return ladder.find((each) => ladder.every((other) => other.perPrimary <= each.perPrimaryHigh));
}

/** The measured rate that meets the objective, else the rate of a model. */
function usableRate(capacity: number, { p99Ms, pipeline }: Requirements, held: SustainedRate | undefined): number {
  if (p99Ms === undefined) return USE * capacity;
  const model = modelled(capacity, p99Ms, pipeline);
  return Math.min(
    USE * capacity,
    held === undefined ? model : held.isLowerBound ? Math.max(held.perPrimary, model) : held.perPrimary,
  );
}

/**
 * The rate at which a queue of batches with random arrivals and service times (M/M/1) has this p99, which is
 * ln(100) / (served batches per second − arriving batches per second).
 */
function modelled(capacity: number, p99Ms: number, pipeline: number): number {
  return capacity - (pipeline * Math.log(100)) / (p99Ms / 1000);
}

/** Bytes of memory for the working set, with the overhead of entries and of a growing table. */
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
  // io-threads spin, so one core stays free for everything else.
  const threads = Math.max(1, Math.min(ioThreads, offer.vcpus - 1));
  if (threads < ioThreads || offer.vcpus < 2) return undefined;
  const least = Math.max(Math.ceil(need.rate / usable), Math.ceil(bytes / (offer.memoryBytes * MEMORY_USE)), 1);
  const primaries = least === 1 ? 1 : Math.max(3, least);
  if (primaries > MAX_PRIMARIES) return undefined;
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
          `${what}: ${each.source}, pipeline ${each.pipeline}, io-threads ${each.ioThreads}: ` +
            `${formatCount(each.row.rps.low)}/s over ${counted(each.primaries, "primary", "primaries")} ` +
            `= ${formatCount(each.perPrimary)}/s each (lower end of the interval)` +
            (each.isLowerBound ? ", at least: the servers were not the limit" : ""),
        ];
  const mix =
    reads > 0 && reads < 1
      ? [
          `mix of ${formatPercent(reads)} reads: 1 / (${reads} / ${formatCount(get?.perPrimary ?? 0)} + ` +
            `${Number((1 - reads).toFixed(4))} / ${formatCount(set?.perPrimary ?? 0)}) = ${formatCount(capacity)}/s for each primary`,
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
          `p99 ≤ ${p99Ms} ms, measured: ${held.source} = ${formatCount(held.perPrimary)}/s ` +
            (held.isLowerBound ? "at least: the highest offered rate, or the load generator was the limit" : "at most"),
        ];
  const model =
    p99Ms === undefined || held?.isLowerBound === false
      ? []
      : [
          `p99 ≤ ${p99Ms} ms, modelled: ${formatCount(capacity)}/s − ${pipeline === 1 ? "" : `${pipeline} × `}` +
            `ln(100) / ${p99Ms} ms = ${formatCount(modelled(capacity, p99Ms, pipeline))}/s at most`,
        ];
  return [
    ...measured,
    ...model,
    `usable: ${formatPercent(USE)} of ${formatCount(capacity)}/s${p99Ms === undefined ? "" : ", limited by the objective"} ` +
      `= ${formatCount(usable)}/s for each primary`,
    `primaries for the rate: ${formatCount(rate)} / ${formatCount(usable)} → ${Math.ceil(rate / usable)}`,
  ];
}

function memoryLine({ workingSet, valueSize }: Requirements, bytes: number): string {
  const gib = (value: number): string => `${(value / 1024 ** 3).toFixed(1)} GiB`;
  return (
    `memory: ${gib(workingSet)} in entries of ${KEY} + ${valueSize} B, with ${ENTRY} B overhead each ` +
    `and ${formatPercent(SWING - 1)} for a growing table = ${gib(bytes)}; at most ${formatPercent(MEMORY_USE)} of a machine's memory`
  );
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
    `a primary serves as much on the recommended machine as on the measured one: ${machines.join(", ")}`,
    `clients send ${pipeline === 1 ? "one request" : `${pipeline} requests`} at a time on each of enough connections`,
    ...elsewhere.map(
      (mode) =>
        `a primary serves as much ${mode === "cluster" ? "in a cluster as measured in replication" : "in replication as measured in a cluster"}`,
    ),
    "keys and requests are spread evenly over the primaries, and one primary can serve the hottest key",
    "all reads go to primaries; replicas are for failover",
    ...(used.some(({ isLowerBound }) => isLowerBound)
      ? ["the servers were not the limit of the measurement, so fewer or smaller machines may be enough"]
      : []),
    ...(used.some(({ results: { study } }) => study?.referenceLoadMoved === true) ||
    used.some(({ row }) => row.warnings.some(({ code }) => code === "reference-load-moved")) ||
    held?.machineChanged === true
      ? ["the reference load moved, so the machine changed during the measurement"]
      : []),
    ...(held === undefined || held.load !== null
      ? []
      : ["the load of the capacity search is like the needed one; it is not on record"]),
    ...(held?.load?.arrivals === "fixed"
      ? [
          "requests arrive evenly spaced, as in the capacity search; independent users send bursts, " +
            "which lowers the rate (measure with arrivals: poisson)",
        ]
      : []),
    ...(p99Ms === undefined || held?.isLowerBound === false
      ? []
      : [
          `${pipeline === 1 ? "requests" : "batches"} arrive at random and are served one by one (M/M/1), without network ` +
            "latency; a capacity search with this objective replaces the model",
        ]),
    `${formatPercent(1 - USE)} of each primary's capacity stays free; each machine runs one server, ` +
      `each primary has ${counted(replicas, "replica")}`,
    "prices are on demand, without volumes, control plane and traffic between zones",
  ];
}
