import { compact } from "../../lib/compact";
import { formatCount, counted, formatPercent } from "../../lib/units";
import type { Results } from "../results/schema";
import { type MeasuredCapacity, mixedCapacity, sustainedRate } from "./capacity";
import { type Choice, chooseCapacities } from "./capacity-choice";
import type { PricedMachine, Recommendation, Requirements, DeploymentOption } from "./recommendation";
import {
  type Basis,
  dataNeeded,
  MAX_PRIMARIES,
  sizeDeployments,
  usableRate,
  ENTRY,
  KEY,
  MEMORY_USE,
  modelledRate,
  SWING,
  USE,
} from "./sizing";
import { textTable } from "../../lib/table";

const MAX_OPTIONS = 5;

export function recommend(
  need: Requirements,
  all: readonly Results[],
  offers: readonly PricedMachine[],
): Recommendation {
  const { choice, missing } = chooseCapacities(need, all);
  const capacity = mixedCapacity(need.reads, choice.get?.perPrimary, choice.set?.perPrimary);
  const without = compact([...missing, offers.length === 0 ? "no prices of machines are known" : undefined]);
  if (capacity === undefined || without.length > 0)
    return { options: [], arithmetic: [], assumptions: [], missing: ["not enough data", ...without] };
  const used = compact([choice.get, choice.set]);
  const ioThreads = used[0]?.ioThreads ?? 1;
  const { p99Ms } = need;
  const sustained = p99Ms === undefined ? undefined : sustainedRate(all, { ...need, p99Ms, ioThreads });
  const basis: Basis = { need, capacity, sustained, ioThreads };
  if (usableRate(basis) <= 0) {
    const why = `a primary with a capacity of ${formatCount(capacity)}/s cannot meet p99 ≤ ${p99Ms ?? 0} ms at any load`;
    return { options: [], arithmetic: [], assumptions: explainAssumptions(basis, used, []), missing: [why] };
  }
  const options = sizeDeployments(basis, offers, compact([...used, sustained])).slice(0, MAX_OPTIONS);
  return {
    options,
    arithmetic: [...explainCapacity(basis, choice), ...explainRate(basis), explainMemory(need, dataNeeded(need))],
    assumptions: explainAssumptions(basis, used, options),
    missing:
      options.length === 0
        ? [`no machine type of the price table is large enough with at most ${MAX_PRIMARIES} primaries`]
        : [],
  };
}

function explainCapacity({ need: { reads }, capacity }: Basis, { get, set }: Choice): string[] {
  const isMixed = reads > 0 && reads < 1;
  return compact([
    reads > 0 ? explainMeasured("reads", get) : undefined,
    reads < 1 ? explainMeasured("writes", set) : undefined,
    isMixed
      ? `mix of ${formatPercent(reads)} reads: 1 / (${reads} / ${formatCount(get?.perPrimary ?? 0)} + ` +
        `${Number((1 - reads).toFixed(4))} / ${formatCount(set?.perPrimary ?? 0)}) = ${formatCount(capacity)}/s for each primary`
      : undefined,
  ]);
}

function explainMeasured(what: string, measured: MeasuredCapacity | undefined): string | undefined {
  if (measured === undefined) return undefined;
  const { source, pipeline, ioThreads, row, primaries, perPrimary, isLowerBound } = measured;
  return (
    `${what}: ${source}, pipeline ${pipeline}, io-threads ${ioThreads}: ` +
    `${formatCount(row.rps.low)}/s over ${counted(primaries, "primary", "primaries")} ` +
    `= ${formatCount(perPrimary)}/s each (lower end of the interval)` +
    (isLowerBound ? " or more, because the servers were not the limit" : "")
  );
}

function explainRate(basis: Basis): string[] {
  const { need, capacity } = basis;
  const usable = usableRate(basis);
  const limited = need.p99Ms === undefined ? "" : ", at most the rate of the objective";
  return [
    ...explainObjective(basis),
    `usable: ${formatPercent(USE)} of ${formatCount(capacity)}/s${limited} = ${formatCount(usable)}/s for each primary`,
    `primaries for the rate: ${formatCount(need.rate)} / ${formatCount(usable)} → ${Math.ceil(need.rate / usable)}`,
  ];
}

function explainObjective({ need: { p99Ms, pipeline }, capacity, sustained }: Basis): string[] {
  if (p99Ms === undefined) return [];
  const lines: string[] = [];
  if (sustained !== undefined) {
    const { source, perPrimary, isLowerBound } = sustained;
    const bound = isLowerBound
      ? "or more, because the highest offered rate or the load generator was the limit"
      : "at most";
    lines.push(`p99 ≤ ${p99Ms} ms, measured: ${source} = ${formatCount(perPrimary)}/s ${bound}`);
  }
  if (sustained?.isLowerBound !== false) {
    const batch = pipeline === 1 ? "" : `${pipeline} × `;
    const rate = formatCount(modelledRate(capacity, p99Ms, pipeline));
    lines.push(
      `p99 ≤ ${p99Ms} ms, modelled: ${formatCount(capacity)}/s − ${batch}ln(100) / ${p99Ms} ms = ${rate}/s at most`,
    );
  }
  return lines;
}

/** @param bytes memory for the working set including all overhead, bytes */
function explainMemory({ workingSet, valueSize }: Requirements, bytes: number): string {
  const gib = (value: number): string => `${(value / 1024 ** 3).toFixed(1)} GiB`;
  return (
    `memory: ${gib(workingSet)} in entries with a key of ${KEY} B, a value of ${valueSize} B and ${ENTRY} B overhead, ` +
    `and ${formatPercent(SWING - 1)} more for a growing table = ${gib(bytes)}; at most ${formatPercent(MEMORY_USE)} of a machine's memory`
  );
}

function explainAssumptions(
  { need, sustained }: Basis,
  used: readonly MeasuredCapacity[],
  options: readonly DeploymentOption[],
): string[] {
  const { p99Ms, replicas, pipeline } = need;
  const measured = new Set(used.map(({ mode }) => mode));
  const elsewhere = [...new Set(options.map(({ mode }) => mode))].filter((mode) => !measured.has(mode));
  const arriving = pipeline === 1 ? "requests" : "batches";
  return compact([
    `a primary serves as many requests on the recommended machine as on the measured machine: ${machinesOf(compact([...used, sustained]))}`,
    `clients have enough connections, and send ${pipeline === 1 ? "one request" : `${pipeline} requests`} at a time on each`,
    ...elsewhere.map((mode) =>
      mode === "cluster"
        ? "a primary in cluster mode serves as many requests as the measured primary in replication mode"
        : "a primary in replication mode serves as many requests as the measured primary in cluster mode",
    ),
    "keys and requests are spread evenly over the primaries, and one primary can serve the hottest key",
    "all reads go to primaries; replicas are for failover",
    used.some(({ isLowerBound }) => isLowerBound)
      ? "the servers were not the limit of the measurement, so fewer or smaller machines may be enough"
      : undefined,
    used.some(machineChanged) || sustained?.machineChanged === true
      ? "the rate of the reference load changed, so the machine became faster or slower during the measurement"
      : undefined,
    sustained?.load === null
      ? "the load of the capacity search is similar to the planned load; the results do not record it"
      : undefined,
    sustained?.load?.arrivals === "fixed"
      ? "requests arrive evenly spaced, as in the capacity search; independent users send bursts, " +
        "which lowers the rate (measure with arrivals: poisson)"
      : undefined,
    p99Ms === undefined || sustained?.isLowerBound === false
      ? undefined
      : `${arriving} arrive at random and are served one by one (M/M/1), without network latency; ` +
        "to replace this model by a measurement, search for the capacity with this objective",
    `${formatPercent(1 - USE)} of each primary's capacity stays free; each machine runs one server, ` +
      `each primary has ${counted(replicas, "replica")}`,
    "prices are on demand, without volumes, control plane and traffic between zones",
  ]);
}

function machineChanged({ results: { study }, row }: MeasuredCapacity): boolean {
  return study?.referenceLoadMoved === true || row.warnings.some(({ code }) => code === "reference-load-moved");
}

function machinesOf(measured: readonly { readonly results: Results }[]): string {
  const machines = measured.map(
    ({ results: { environment } }) =>
      environment.machines[0]?.instanceType ?? `${environment.cpuModel} (${environment.coresAvailable} cores)`,
  );
  return [...new Set(machines)].join(", ");
}

/** If measurements are missing, the lines list the missing measurements instead. */
export function formatRecommendation({ options, arithmetic, assumptions, missing }: Recommendation): string[] {
  const [best] = options;
  const bullets = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
  if (best === undefined) {
    const [first = "no machine type is large enough", ...others] = missing;
    return [`No recommendation: ${first}`, ...others.map((line) => `  ${line}`), ...bullets("Assumed", assumptions)];
  }
  const shape =
    best.mode === "replication"
      ? `replication, 1 primary with ${counted(best.replicas, "replica")}`
      : `cluster, ${best.primaries} primaries with ${counted(best.replicas, "replica")} each`;
  const rows = options.map(({ mode, primaries, replicas, machine, ioThreads, usdPerMonth, utilisation }) => [
    mode,
    String(primaries),
    String(primaries * (1 + replicas)),
    machine.type,
    String(ioThreads),
    `${Math.round(100 * utilisation)} %`,
    `$${formatCount(usdPerMonth)}`,
  ]);
  return [
    `Recommended: ${shape}, on ${best.machine.type} with io-threads ${best.ioThreads}: ` +
      `$${formatCount(best.usdPerMonth)} a month for its machines`,
    "",
    ...textTable([["Mode", "Primaries", "Machines", "Type", "io-threads", "Used", "A month"], ...rows], " rr rrr"),
    ...bullets("Because", arithmetic),
    ...bullets("Assumed", assumptions),
  ];
}
