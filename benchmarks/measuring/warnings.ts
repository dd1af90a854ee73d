/** Reasons not to trust a measurement, from what was measured beside it. Pure; every limit is named here. */
import type { ReferenceLoadRecord, Warning, MeasurementRecord } from "../results/schema";
import { median } from "../../lib/statistics/median";
import { CLOCK_TICK_SECONDS } from "../load/valkey-benchmark/arguments";
import { bottleneckOf } from "./bottleneck";

/** Client's and servers' rates may differ by so much. */
export const CLOCK_DISAGREEMENT_LIMIT = 0.01;
/** Reads of prefilled keys that may miss. */
const MISS_LIMIT = 0.001;
/** A primary's share of the calls may be off its expected share by so much of it. */
const SHARE_LIMIT = 0.05;
/** Standard deviations that chance is allowed. */
const CHANCE = 4;
/** Cores taken by others or stolen by the hypervisor, of the machine's. */
const NEIGHBOUR_LIMIT = 0.1;
/** A reference load may be off the median reference load by so much. */
export const REFERENCE_LOAD_LIMIT = 0.1;
/** An offered rate must be reached to this part. */
const RATE_LIMIT = 0.98;
/** An open loop may be late by so much of the 99th percentile, or by so many milliseconds. */
const LATE_PART = 0.1;
const LATE_MS = 0.1;
/** Requests of an open loop that may be refused, given up on or not sent. */
const UNANSWERED_LIMIT = 0.001;
/** A measurement shorter than this says little, whatever the clock. */
const LEAST_SECONDS = 1;

/** What warnings are drawn from: a record before it has any, and what only the measuring knows. */
export interface WarningEvidence {
  readonly record: Omit<MeasurementRecord, "warnings">;
  /** Whether the tool looked at its clock in ticks and counted requests, so that its time is rounded up to a tick. */
  readonly isTicked: boolean;
  readonly reads: boolean;
  readonly ranEmpty: boolean;
  /** Whether some primaries are meant to get more than others. */
  readonly isSkewed: boolean;
  readonly serversUnknown: string | undefined;
  /** How long an open loop was to offer, without the wait for the last answers; undefined for a closed one. */
  readonly offeredSeconds: number | undefined;
}

export function warningsOf(evidence: WarningEvidence): Warning[] {
  return [
    ...clockWarnings(evidence),
    ...lengthWarnings(evidence),
    ...offeringWarnings(evidence),
    ...workWarnings(evidence),
    ...saturationWarnings(evidence),
    ...shareWarnings(evidence),
  ];
}

function clockWarnings({ record: { servers, client }, serversUnknown }: WarningEvidence): Warning[] {
  if (servers === null)
    return [
      warning("servers-unknown", `the servers' counters could not be read (${serversUnknown ?? "no reason given"})`),
    ];
  if (Math.abs(servers.disagreement) <= CLOCK_DISAGREEMENT_LIMIT) return [];
  return [
    warning(
      "clocks-disagree",
      `the load generator says ${rounded(client.rps)}/s, the servers counted ${rounded(servers.rps)}/s (${percent(servers.disagreement)})`,
    ),
  ];
}

function lengthWarnings({ record: { client, rate, offering }, isTicked, offeredSeconds }: WarningEvidence): Warning[] {
  const warnings: Warning[] = [];
  const tick = CLOCK_TICK_SECONDS / client.seconds;
  if (isTicked && tick > 0.01)
    warnings.push(
      warning(
        "too-short",
        `time is read in ticks of ${CLOCK_TICK_SECONDS * 1000} ms, ${percent(tick)} of the ${client.seconds.toFixed(2)} s this took`,
      ),
    );
  else if (client.seconds < LEAST_SECONDS * 0.98)
    warnings.push(warning("too-short", `it took ${client.seconds.toFixed(2)} s only`));
  // Independent arrivals are never exactly as many as the rate says. Who falls behind answers everything, but later: that takes longer than it was offered.
  const offered =
    offering === null || rate === null || offeredSeconds === undefined
      ? rate
      : Math.min(rate, offering.offered / offeredSeconds);
  if (offered !== null && client.rps < RATE_LIMIT * offered)
    warnings.push(warning("rate-missed", `${rounded(client.rps)}/s of the ${rounded(rate ?? 0)}/s that were offered`));
  return warnings;
}

/** What an open loop itself added to latencies, and what its latencies leave out. */
function offeringWarnings({ record: { offering, client } }: WarningEvidence): Warning[] {
  if (offering === null) return [];
  const warnings: Warning[] = [];
  const { lagP99Ms, failed, unknown, offered } = offering;
  if (lagP99Ms > Math.max(LATE_MS, LATE_PART * client.p99Ms))
    warnings.push(
      warning(
        "generator-late",
        `the generator itself was more than ${lagP99Ms.toFixed(2)} ms late for one in a hundred requests, which is part of their latency (p99 ${client.p99Ms.toFixed(2)} ms)`,
      ),
    );
  const without = [...Object.entries(failed), ...Object.entries(unknown)];
  const sum = without.reduce((total, [, count]) => total + count, 0);
  if (sum > UNANSWERED_LIMIT * offered)
    warnings.push(
      warning(
        "unanswered",
        `${percent(sum / offered)} of the requests have no latency, for they were not answered: ${without.map(([kind, count]) => `${kind} ${rounded(count)}`).join(", ")}`,
      ),
    );
  return warnings;
}

function workWarnings({ record: { servers, title }, reads, ranEmpty }: WarningEvidence): Warning[] {
  const warnings: Warning[] = [];
  if (ranEmpty) warnings.push(warning("ran-empty", `the last requests of ${title} found nothing left to take`));
  if (servers === null) return warnings;
  if (reads && servers.hitRatio !== null && servers.hitRatio < 1 - MISS_LIMIT)
    warnings.push(
      warning("hit-ratio", `${percent(1 - servers.hitRatio)} of the reads found nothing, which is less work`),
    );
  if (servers.evictions > 0) warnings.push(warning("evictions", `${servers.evictions} keys were evicted meanwhile`));
  if (servers.rejectedCalls > 0)
    warnings.push(warning("errors", `${servers.rejectedCalls} calls failed or were refused`));
  return warnings;
}

/** Who was the limit matters where as much was sent as could be, and where what was offered was not reached. */
function saturationWarnings({ record }: WarningEvidence): Warning[] {
  const { cpu, rate, client } = record;
  const warnings: Warning[] = [];
  const limit = bottleneckOf(record);
  if (rate === null || client.rps < RATE_LIMIT * rate) {
    if (limit.at === "client") warnings.push(warning("client-bound", limit.text));
    if (limit.at === "machine") warnings.push(warning("machine-bound", limit.text));
  }
  const ours =
    (cpu.client ?? 0) + cpu.program + (cpu.serversHere ? cpu.servers.reduce((sum, { cores }) => sum + cores, 0) : 0);
  const others = cpu.machineBusy === null ? 0 : Math.max(0, cpu.machineBusy - ours) + (cpu.machineStolen ?? 0);
  if (others > NEIGHBOUR_LIMIT * cpu.machineCores)
    warnings.push(warning("neighbour", `others used ${others.toFixed(2)} of the machine's ${cpu.machineCores} cores`));
  return warnings;
}

function shareWarnings({ record: { servers }, isSkewed }: WarningEvidence): Warning[] {
  if (isSkewed) return [];
  const uneven = (servers?.shares ?? []).filter(({ share, expectedShare }) => {
    // Keys drawn at random fall unevenly by chance, the more so the fewer there are.
    const chance = Math.sqrt((expectedShare * (1 - expectedShare)) / Math.max(1, servers?.calls ?? 0));
    return Math.abs(share - expectedShare) > Math.max(SHARE_LIMIT * expectedShare, CHANCE * chance);
  });
  if (uneven.length === 0) return [];
  return [
    warning(
      "uneven-shares",
      uneven
        .map(
          ({ node, share, expectedShare }) =>
            `${node} had ${percent(share)} of the calls and should have ${percent(expectedShare)}`,
        )
        .join(", "),
    ),
  ];
}

/** Whether the reference loads before and after a round stayed near the median of all of them. */
export function referenceLoadWarnings(round: number, referenceLoads: readonly ReferenceLoadRecord[]): Warning[] {
  if (referenceLoads.length === 0) return [];
  const usual = median(referenceLoads.map(({ rps }) => rps));
  const around = referenceLoads.filter(
    (referenceLoad) => referenceLoad.round === round || referenceLoad.round === round + 1,
  );
  const moved = around.filter(({ rps }) => Math.abs(rps / usual - 1) > REFERENCE_LOAD_LIMIT);
  if (moved.length === 0) return [];
  return [
    warning(
      "reference-load-moved",
      `a fixed load ran at ${moved.map(({ rps }) => percent(rps / usual)).join(" and ")} of its usual rate beside it: the machine was not the same throughout`,
    ),
  ];
}

function warning(code: Warning["code"], text: string): Warning {
  return { code, text };
}

function percent(part: number): string {
  const value = part * 100;
  return `${Math.abs(value) < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

function rounded(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
