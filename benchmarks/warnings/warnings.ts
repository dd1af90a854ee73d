/** Warnings: reasons not to trust a measurement. */
import { formatCount, formatPercent } from "../../lib/units";
import { median } from "../../lib/statistics/median";
import { CLOCK_TICK_SECONDS } from "../load/valkey-benchmark/arguments";
import type { MeasurementRecord, OpenLoopCounts, ReferenceLoadRecord, Warning } from "../results/schema";
import { LATENCY_LIMIT_MS, timedOut } from "../results/latency-limits";
import { bottleneckOf, MIN_SECONDS } from "./bottleneck";

/** Rate of the load generator against that of the servers, relative to the latter. */
const CLOCK_DISAGREEMENT_LIMIT = 0.01;
/** Greatest share of reads that are allowed to miss a key that a prefill wrote. */
const MISS_LIMIT = 0.001;
/** Greatest relative difference between a shard's share of the calls and its expected share. */
const SHARE_LIMIT = 0.05;
const EQUAL_CONNECTIONS = "valkey-benchmark gives each shard an equal number of connections, whatever slots it has";
/** Number of standard deviations up to which a difference can be chance. */
const CHANCE_DEVIATIONS = 4;
/** Share of the machine's cores in use by other processes or stolen by the hypervisor. */
const NEIGHBOUR_LIMIT = 0.1;
export const REFERENCE_LOAD_LIMIT = 0.1;
/** Lowest share of the offered rate that a load can reach without a warning. */
const RATE_LIMIT = 0.98;
/** Lateness at the 99th percentile, as a share of the p99 latency. A warning needs more than this and `LATE_MS`. */
const LATE_SHARE = 0.1;
const LATE_MS = 0.1;
/** Greatest share of an open loop's requests that fail, time out or are not sent. */
const UNANSWERED_LIMIT = 0.001;
/** Greatest share of the measured time that one tick of the load generator's clock is allowed to take. */
const TICK_LIMIT = 0.01;

export interface WarningEvidence {
  readonly record: Omit<MeasurementRecord, "warnings">;
  /** If true, the load generator reads its clock only at intervals, and rounds the time up to the next tick. */
  readonly isTicked: boolean;
  readonly reads: boolean;
  /** Whether the test removed all elements of its collections, so that its last requests found none. */
  readonly ranEmpty: boolean;
  readonly isSkewed: boolean;
  /** Reason why the servers' counters could not be read; undefined if the counters were read. */
  readonly serversUnknown: string | undefined;
  /** Without the wait for the last replies; undefined for a closed loop. */
  readonly offeredSeconds: number | undefined;
}

export function warningsOf(evidence: WarningEvidence): Warning[] {
  return [
    ...clockWarnings(evidence),
    ...lengthWarnings(evidence),
    ...rateWarnings(evidence),
    ...openLoopWarnings(evidence),
    ...limitWarnings(evidence),
    ...workWarnings(evidence),
    ...bottleneckWarnings(evidence),
    ...neighbourWarnings(evidence),
    ...shareWarnings(evidence),
  ];
}

function clockWarnings({ record: { servers, client }, serversUnknown }: WarningEvidence): Warning[] {
  if (servers === null) {
    return [
      warning("servers-unknown", `the servers' counters could not be read (${serversUnknown ?? "no reason given"})`),
    ];
  }
  if (Math.abs(servers.disagreement) <= CLOCK_DISAGREEMENT_LIMIT) return [];
  const difference = formatPercent(servers.disagreement);
  const rates = `the load generator reports ${formatCount(client.rps)}/s, but the servers counted ${formatCount(servers.rps)}/s`;
  return [warning("clocks-disagree", `${rates} (${difference})`)];
}

function lengthWarnings({ record: { client }, isTicked }: WarningEvidence): Warning[] {
  const tick = CLOCK_TICK_SECONDS / client.seconds;
  const seconds = `${client.seconds.toFixed(2)} s`;
  if (isTicked && tick > TICK_LIMIT) {
    const ticks = `the load generator reads its clock every ${CLOCK_TICK_SECONDS * 1000} ms`;
    return [
      warning("too-short", `${ticks}, which is ${formatPercent(tick)} of the ${seconds} that the measurement took`),
    ];
  }
  return client.seconds < MIN_SECONDS ? [warning("too-short", `the measurement took only ${seconds}`)] : [];
}

/**
 * Against the configured rate, or in an open loop against that of the offered requests, which random arrivals can make
 * lower. If it falls behind, its last answers come after the planned end, so the reached rate is lower.
 */
function rateWarnings({ record: { client, rate, offering }, offeredSeconds }: WarningEvidence): Warning[] {
  if (rate === null) return [];
  const isOpenLoop = offering !== null && offeredSeconds !== undefined;
  const offered = isOpenLoop ? Math.min(rate, offering.offered / offeredSeconds) : rate;
  if (client.rps >= RATE_LIMIT * offered) return [];
  return [
    warning(
      "rate-missed",
      `the load generator reached only ${formatCount(client.rps)}/s of the offered ${formatCount(rate)}/s`,
    ),
  ];
}

/** Its lateness is part of all latencies, and some requests have no latency. */
function openLoopWarnings({ record: { offering, client } }: WarningEvidence): Warning[] {
  if (offering === null) return [];
  return [...latenessWarnings(offering, client.p99Ms), ...unansweredWarnings(offering)];
}

function latenessWarnings({ lagP99Ms }: OpenLoopCounts, p99Ms: number): Warning[] {
  if (lagP99Ms <= Math.max(LATE_MS, LATE_SHARE * p99Ms)) return [];
  const late = `the load generator sent 1 % of the requests more than ${lagP99Ms.toFixed(2)} ms late`;
  return [warning("generator-late", `${late}, and their latency includes this delay (p99 ${p99Ms.toFixed(2)} ms)`)];
}

function unansweredWarnings({ failed, unknown, offered }: OpenLoopCounts): Warning[] {
  const unanswered = [...Object.entries(failed), ...Object.entries(unknown)];
  const sum = unanswered.reduce((total, [, count]) => total + count, 0);
  if (sum <= UNANSWERED_LIMIT * offered) return [];
  const kinds = unanswered.map(([kind, count]) => `${kind} ${formatCount(count)}`).join(", ");
  return [
    warning(
      "unanswered",
      `${formatPercent(sum / offered)} of the requests got no answer and have no latency: ${kinds}`,
    ),
  ];
}

function limitWarnings({ record: { client, loadGenerator, offering } }: WarningEvidence): Warning[] {
  const late = timedOut({ offering });
  const unrecorded = `${formatCount(late)} requests took longer than a request may take, so the highest latency is not known`;
  const limit = LATENCY_LIMIT_MS[loadGenerator];
  if (client.maxMs < limit) return late === 0 ? [] : [warning("latency-limit", unrecorded)];
  const most = `${formatCount(limit)} ms`;
  const text = `${loadGenerator} records every latency above ${most} as ${most}, and some requests took that long or longer`;
  return [warning("latency-limit", text)];
}

function workWarnings({ record: { servers, title }, reads, ranEmpty }: WarningEvidence): Warning[] {
  const warnings: Warning[] = [];
  if (ranEmpty) warnings.push(warning("ran-empty", `the last requests of ${title} found an empty collection`));
  if (servers === null) return warnings;
  const { hitRatio, evictions, rejectedCalls } = servers;
  if (reads && hitRatio !== null && hitRatio < 1 - MISS_LIMIT) {
    warnings.push(
      warning(
        "hit-ratio",
        `${formatPercent(1 - hitRatio)} of the reads found no key, and such a read is less work for the server`,
      ),
    );
  }
  if (evictions > 0)
    warnings.push(warning("evictions", `the servers evicted ${evictions} keys during the measurement`));
  if (rejectedCalls > 0) warnings.push(warning("errors", `${rejectedCalls} calls failed or were refused`));
  return warnings;
}

/** These warnings apply to loads at full speed, and to offered rates that were not reached. */
function bottleneckWarnings({ record }: WarningEvidence): Warning[] {
  const { rate, client } = record;
  if (rate !== null && client.rps >= RATE_LIMIT * rate) return [];
  const bottleneck = bottleneckOf(record);
  if (bottleneck.at === "client") return [warning("client-bound", bottleneck.text)];
  return bottleneck.at === "machine" ? [warning("machine-bound", bottleneck.text)] : [];
}

function neighbourWarnings({ record: { cpu } }: WarningEvidence): Warning[] {
  if (cpu.machineBusy === null) return [];
  const servers = cpu.serversHere ? cpu.servers.reduce((sum, { cores }) => sum + cores, 0) : 0;
  const own = (cpu.client ?? 0) + cpu.program + servers;
  const others = Math.max(0, cpu.machineBusy - own) + (cpu.machineStolen ?? 0);
  if (others <= NEIGHBOUR_LIMIT * cpu.machineCores) return [];
  return [warning("neighbour", `other processes used ${others.toFixed(2)} of the machine's ${cpu.machineCores} cores`)];
}

function shareWarnings({ record: { servers, loadGenerator, keySpace }, isSkewed }: WarningEvidence): Warning[] {
  const all = servers?.shares ?? [];
  const calls = all.reduce((sum, each) => sum + each.calls, 0);
  if (isSkewed || calls === 0) return [];
  // Without hash tags, the keys themselves are distributed over the slots by chance.
  const draws = Math.min(calls, loadGenerator === "memtier" ? keySpace : Infinity);
  const uneven = all.filter(({ share, expectedShare }) => {
    // Keys that are drawn at random are unevenly distributed by chance. The unevenness is greater if there are fewer
    // calls.
    const deviation = Math.sqrt((expectedShare * (1 - expectedShare)) / draws);
    return Math.abs(share - expectedShare) > Math.max(SHARE_LIMIT * expectedShare, CHANCE_DEVIATIONS * deviation);
  });
  if (uneven.length === 0) return [];
  const shares = uneven.map(
    ({ node, share, expectedShare }) =>
      `the shard of ${node} received ${formatPercent(share)} of the calls instead of ${formatPercent(expectedShare)}`,
  );
  const isUneven = uneven.some(({ expectedShare }) => Math.abs(expectedShare * all.length - 1) > SHARE_LIMIT);
  const why = isUneven && loadGenerator === "valkey-benchmark" ? `; ${EQUAL_CONNECTIONS}` : "";
  return [warning("uneven-shares", `${shares.join(", ")}${why}`)];
}

export function referenceLoadWarnings(round: number, referenceLoads: readonly ReferenceLoadRecord[]): Warning[] {
  if (referenceLoads.length === 0) return [];
  const usual = median(referenceLoads.map(({ rps }) => rps));
  const around = referenceLoads.filter((each) => each.round === round || each.round === round + 1);
  const moved = around.filter(({ rps }) => Math.abs(rps / usual - 1) > REFERENCE_LOAD_LIMIT);
  if (moved.length === 0) return [];
  const rates = moved.map(({ rps }) => formatPercent(rps / usual)).join(" and ");
  const text = `the reference load before or after the round ran at ${rates} of its median rate, so the machine became faster or slower`;
  return [warning("reference-load-moved", text)];
}

function warning(code: Warning["code"], text: string): Warning {
  return { code, text };
}
