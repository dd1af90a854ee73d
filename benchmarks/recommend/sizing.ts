import { compact } from "../../lib/compact";
import { HOURS_PER_MONTH } from "../../lib/dollars";
import type { Results } from "../results/schema";
import type { SustainedRate } from "./capacity";
import type { DeploymentOption, PricedMachine, Requirements } from "./recommendation";

/** The rest is a reserve for failovers, snapshots and growth. */
export const USE = 0.7;
/** The rest of a machine's memory is for buffers, fragmentation, and copy-on-write during snapshots. */
export const MEMORY_USE = 0.6;
/** Memory of an entry in addition to its key and value, bytes. */
export const ENTRY = 90;
/** A hash table needs more memory for a while when it grows. */
export const SWING = 1.13;
/** Assumed size of a key, bytes. */
export const KEY = 20;
export const MAX_PRIMARIES = 500;

export interface Basis {
  readonly need: Requirements;
  /** Requests per second that a primary serves at full speed. */
  readonly capacity: number;
  readonly sustained: SustainedRate | undefined;
  readonly ioThreads: number;
}

/** One for each machine type that fits, cheapest first; types with the architecture of `measured` are preferred. */
export function sizeDeployments(
  basis: Basis,
  offers: readonly PricedMachine[],
  measured: readonly { readonly results: Results }[],
): DeploymentOption[] {
  return compact(similarOffers(offers, measured).map((offer) => sizeDeployment(basis, offer))).sort(
    (a, b) => a.usdPerMonth - b.usdPerMonth || a.primaries - b.primaries,
  );
}

/** Machine types with a measured CPU architecture, on which a primary's capacity depends, or all if there are none. */
function similarOffers(
  offers: readonly PricedMachine[],
  measured: readonly { readonly results: Results }[],
): readonly PricedMachine[] {
  const platforms = measured.flatMap(({ results: { environment } }) =>
    environment.machines.length > 0 ? environment.machines.map(({ platform }) => platform) : [environment.platform],
  );
  const architectures = new Set(platforms.map(architectureOf));
  const similar = offers.filter(({ architecture }) => architectures.has(architecture));
  return similar.length > 0 ? similar : offers;
}

function architectureOf(platform: string): string {
  if (platform.endsWith("arm64")) return "arm64";
  return /(amd64|x64)$/.test(platform) ? "amd64" : platform;
}

/** Based on the measured rate that met the objective, otherwise on a modelled one. */
export function usableRate({ need: { p99Ms, pipeline }, capacity, sustained }: Basis): number {
  const free = USE * capacity;
  if (p99Ms === undefined) return free;
  const model = modelledRate(capacity, p99Ms, pipeline);
  if (sustained === undefined) return Math.min(free, model);
  const { perPrimary, isLowerBound } = sustained;
  return Math.min(free, isLowerBound ? Math.max(perPrimary, model) : perPrimary);
}

/** A queue with random arrivals and service times (M/M/1): p99 = ln(100) / (served − arriving batches per second). */
export function modelledRate(capacity: number, p99Ms: number, pipeline: number): number {
  return capacity - (pipeline * Math.log(100)) / (p99Ms / 1000);
}

export function dataNeeded({ workingSet, valueSize }: Requirements): number {
  const entries = workingSet / (KEY + valueSize);
  return (workingSet + entries * ENTRY) * SWING;
}

function sizeDeployment(basis: Basis, machine: PricedMachine): DeploymentOption | undefined {
  const { need, capacity, ioThreads } = basis;
  // io-threads spin all the time, so one core must stay free for all other work.
  if (machine.vcpus < 2 || ioThreads > machine.vcpus - 1) return undefined;
  const forRate = Math.ceil(need.rate / usableRate(basis));
  const forData = Math.ceil(dataNeeded(need) / (machine.memoryBytes * MEMORY_USE));
  const least = Math.max(forRate, forData, 1);
  const primaries = least === 1 ? 1 : Math.max(3, least);
  if (primaries > MAX_PRIMARIES) return undefined;
  const nodes = primaries * (1 + need.replicas);
  return {
    mode: primaries === 1 ? "replication" : "cluster",
    primaries,
    replicas: need.replicas,
    machine,
    ioThreads,
    usdPerMonth: nodes * machine.usdPerHour * HOURS_PER_MONTH,
    utilisation: need.rate / (primaries * capacity),
  };
}
