import { textTable } from "../../../lib/table";
import { compact } from "../../../lib/compact";
import { counted, formatPercent, formatCount } from "../../../lib/units";
import { formatUsd } from "../../../lib/dollars";
import { describeCost, rowCost, storageCost, dataLimitOf } from "../cost";
import { type WarningNote, warningNotes, NO_WARNINGS } from "../../warnings/warning-notes";
import { latencyLimitMs } from "../latency-limits";
import { formatScenarios } from "../scenario-rows";
import { type TestComparison, type ResultRow, compareDeployments, formatInterval, latencyOf } from "../rows";
import { formatObjective } from "../../capacity/objective";
import type { CapacityRecord, Results, MeasuredTopology } from "../schema";

/** Formats the whole summary of a run as lines without color. */
export function formatSummary(results: Results): string[] {
  const { deployments, comparisons } = compareDeployments(results);
  const notes = warningNotes(comparisons.flatMap(({ rows }) => rows.flatMap((row) => row ?? [])));
  const hasOthers = results.capacities.length + results.scenarios.length > 0;
  const table =
    comparisons.length === 0 ? ["Nothing was measured."] : tableLines(deployments, comparisons, results.topologies);
  return [
    ...(results.complete ? [] : [`INCOMPLETE: ${results.reason ?? "the run was stopped"}`, ""]),
    ...formatScenarios(results.scenarios),
    ...(results.capacities.length > 0 ? ["=== Capacity ===", ...results.capacities.map(formatCapacity)] : []),
    ...(comparisons.length === 0 && hasOthers
      ? []
      : compact([hasOthers ? "" : undefined, "=== Side by side ===", ...table])),
    ...results.topologies.flatMap(keyLines),
    ...costLines(results, comparisons),
    ...(comparisons.length === 0 ? [] : ["", "=== Warnings ===", ...warningLines(notes)]),
  ];
}

/** A block for each test, with a line for each deployment, so that lines fit on terminals with 80 columns. */
function tableLines(
  deployments: readonly string[],
  comparisons: readonly TestComparison[],
  topologies: readonly MeasuredTopology[],
): string[] {
  const compared = deployments.length > 1;
  const shapes = deployments.flatMap((name) => topologies.filter(({ deployment }) => deployment === name));
  const names = compact([...deployments, compared ? `${deployments.at(-1) ?? ""} speed-up` : undefined]);
  const width = Math.max(...names.map((name) => name.length));
  const body = comparisons.flatMap((comparison) => {
    const cells = [...comparison.rows.map(cell), [describeSpeedUp(comparison)]];
    const lines = names.flatMap((name, index) =>
      (cells[index] ?? []).map((text, row) => `  ${(row === 0 ? name : "").padEnd(width)}  ${text}`),
    );
    return [comparison.title, ...lines];
  });
  return [
    ...shapes.map((topology) => `${topology.deployment}: ${describeShape(topology)}`),
    "",
    ...body,
    ...confidenceLines(comparisons),
  ];
}

function describeSpeedUp({ rows, speedUp }: TestComparison): string {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined) return "–";
  const lower = (name: string, msOf: (row: ResultRow) => number): string =>
    [first, last].some((row) => msOf(row) >= latencyLimitMs(row.records))
      ? `${name} –`
      : `${name} ${(msOf(first) / msOf(last)).toFixed(2)}× lower`;
  const p50 = lower("p50", ({ p50Ms }) => p50Ms);
  if (speedUp !== undefined) {
    const interval = formatInterval(speedUp, (value) => value.toFixed(2));
    return `${speedUp.median.toFixed(2)}×${interval === "" ? "" : ` (${interval})`} · ${p50}`;
  }
  return first.isOpenLoop && last.isOpenLoop ? `${p50}, ${lower("p99", ({ p99Ms }) => p99Ms)}` : "–";
}

/** Empty for a single repeat, because it has no interval. */
function confidenceLines(comparisons: readonly TestComparison[]): string[] {
  const [row] = comparisons.flatMap(({ rows }) => rows.flatMap((each) => each ?? []));
  if (row === undefined || row.repeats < 2) return [];
  const confidence = (row.rps.confidence * 100).toFixed(0);
  return [
    `Medians of ${row.repeats} repeats; in brackets the interval that contains the true`,
    `median with ${confidence} % confidence.`,
  ];
}

function cell(row: ResultRow | undefined): string[] {
  if (row === undefined) return ["not measured"];
  const hits = row.hitRatio === null ? "" : ` · ${formatPercent(row.hitRatio)} hits`;
  const p99 = row.isOpenLoop ? `, p99 ${latencyOf(row, row.p99Ms)}` : "";
  const codes = row.warnings.map(({ code }) => code).sort();
  return compact([
    `${formatCount(row.rps.median)}/s · p50 ${latencyOf(row, row.p50Ms)}${p99}${hits}`,
    codes.length === 0 ? undefined : `warnings: ${codes.join(", ")}`,
  ]);
}

/** Such as `cluster meets p99 ≤ 2 ms at up to 41,200/s (steady), knee at 50,000/s; …`. */
export function formatCapacity({
  deployment,
  capacity,
  isOpenEnded,
  objective,
  workload,
  knee,
  bottleneck,
  warnings,
}: CapacityRecord): string {
  const rate =
    capacity === 0 ? "at no offered rate" : `at ${isOpenEnded ? "at least" : "up to"} ${formatCount(capacity)}/s`;
  const parts = compact([
    `${deployment} meets ${formatObjective(objective)} ${rate} (${workload})`,
    knee === null ? undefined : `, knee at ${formatCount(knee)}/s`,
    bottleneck === null ? undefined : `; ${describeBottleneck(bottleneck)}`,
    warnings.length === 0 ? undefined : ` [${warnings.map(({ code }) => code).join(", ")}]`,
  ]);
  return parts.join("");
}

function describeBottleneck({ at, text }: NonNullable<CapacityRecord["bottleneck"]>): string {
  if (at === "none") return "no bottleneck was found at higher rates";
  return `at higher rates the bottleneck is the ${at}${text === undefined ? "" : ` (${text})`}`;
}

function keyLines({ deployment, nodes }: MeasuredTopology): string[] {
  const primaries = nodes.filter(({ role, keysAfter }) => role === "primary" && keysAfter !== null);
  const total = primaries.reduce((sum, { keysAfter }) => sum + (keysAfter ?? 0), 0);
  if (primaries.length === 0) return [];
  const rows = primaries.map(({ name, keysAfter }) => [
    name,
    `${formatCount(keysAfter ?? 0)} keys`,
    total === 0 ? "" : `${(((keysAfter ?? 0) / total) * 100).toFixed(1)} %`,
  ]);
  return ["", `=== Keys by primary of ${deployment} after the run ===`, ...textTable(rows, "lrr")];
}

function costLines(results: Results, comparisons: readonly TestComparison[]): string[] {
  const lines = (results.costs ?? []).flatMap((cost) => {
    const perMillion = comparisons.flatMap(({ title, rows }) =>
      rows.flatMap((row) => (row?.deployment === cost.deployment ? [[title, rowCost(results, row)] as const] : [])),
    );
    const topology = results.topologies.find(({ deployment }) => deployment === cost.deployment);
    const perGib = topology === undefined ? null : storageCost(results, topology);
    const parts = compact([
      ...perMillion.flatMap(([title, usd]) => (usd === null ? [] : [`${title} $${formatUsd(usd)} per million`])),
      topology === undefined || perGib === null
        ? undefined
        : `$${formatUsd(perGib)} per GiB of ${dataLimitOf(topology)} per month`,
    ]);
    return compact([
      `${cost.deployment}: ${describeCost(cost)}`,
      parts.length === 0 ? undefined : `  ${parts.join(", ")}`,
    ]);
  });
  return lines.length === 0 ? [] : ["", "=== Cost of the servers ===", ...lines];
}

function warningLines(notes: readonly WarningNote[]): string[] {
  if (notes.length === 0) return [NO_WARNINGS];
  return notes.map(({ code, text, where }) => `${code}: ${text} (${where.join(", ")})`);
}

export function describeShape({ nodes }: Pick<MeasuredTopology, "nodes">): string {
  const count = (role: "primary" | "replica"): number => nodes.filter((node) => node.role === role).length;
  const primaries = count("primary");
  const replicas = count("replica");
  return `${counted(primaries, "primary", "primaries")} + ${counted(replicas, "replica")}`;
}
