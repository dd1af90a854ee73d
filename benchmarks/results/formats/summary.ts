/** summary.txt and the end of a run on the terminal: the table side by side, keys by primary, warnings. Pure. */
import { textTable } from "../../../lib/table";
import { formatCount, formatMs } from "../../../lib/units";
import { formatUsd } from "../../../lib/dollars";
import { describeCost, rowCost, storageCost, dataLimitOf } from "../cost";
import type { WarningNote } from "./warning-notes";
import { warningNotes, NO_WARNINGS, noteLetter } from "./warning-notes";
import { formatScenarios } from "../scenario-rows";
import type { TestComparison, ResultRow } from "../rows";
import { compareDeployments } from "../rows";
import { formatObjective } from "../../capacity/objective";
import type { CapacityRecord, Results, TopologyRecord } from "../schema";

/** All of it, lines without colour. */
export function formatSummary(results: Results): string[] {
  const { deployments, comparisons } = compareDeployments(results);
  const notes = warningNotes(comparisons.flatMap(({ rows }) => rows.flatMap((row) => row ?? [])));
  return [
    ...(results.complete ? [] : [`INCOMPLETE: ${results.reason ?? "the run was stopped"}`, ""]),
    ...formatScenarios(results.failures),
    ...(results.capacities.length > 0 ? ["=== Capacity ===", ...results.capacities.map(formatCapacity)] : []),
    ...(comparisons.length === 0 && results.capacities.length + results.failures.length > 0
      ? []
      : [
          ...(results.capacities.length + results.failures.length > 0 ? [""] : []),
          "=== Side by side ===",
          ...(comparisons.length === 0
            ? ["Nothing was measured."]
            : tableLines(deployments, comparisons, notes, results.topologies)),
        ]),
    ...results.topologies.flatMap(keyLines),
    ...costLines(results, comparisons),
    ...(comparisons.length === 0 ? [] : ["", "=== Warnings ===", ...warningLines(notes)]),
  ];
}

function tableLines(
  deployments: readonly string[],
  comparisons: readonly TestComparison[],
  notes: readonly WarningNote[],
  topologies: readonly TopologyRecord[],
): string[] {
  const compared = deployments.length > 1;
  const shapes = deployments.map((name) => topologies.find(({ deployment }) => deployment === name));
  const head = ["Test", ...deployments, ...(compared ? [`${deployments.at(-1) ?? ""} speed-up`] : [])];
  const under = [
    "",
    ...shapes.map((topology) => (topology === undefined ? "" : describeShape(topology))),
    ...(compared ? [""] : []),
  ];
  const body = comparisons.map(({ title, rows, speedUp }) => {
    const [first] = rows;
    const last = rows.at(-1);
    const tail =
      first?.isOpenLoop === true && last?.isOpenLoop === true
        ? `p50 ${(first.p50Ms / last.p50Ms).toFixed(2)}×, p99 ${(first.p99Ms / last.p99Ms).toFixed(2)}× lower`
        : "–";
    const p50 =
      first === undefined || last === undefined ? "" : ` · p50 ${(first.p50Ms / last.p50Ms).toFixed(2)}× lower`;
    return [
      title,
      ...rows.map((row) => cell(row, notes)),
      ...(compared
        ? [
            speedUp === undefined
              ? tail
              : `${speedUp.median.toFixed(2)}× (${speedUp.low.toFixed(2)} … ${speedUp.high.toFixed(2)})${p50}`,
          ]
        : []),
    ];
  });
  const [row] = comparisons.flatMap(({ rows }) => rows.flatMap((each) => each ?? []));
  const confidence =
    row === undefined || row.repeats < 2
      ? []
      : [
          `Medians of ${row.repeats} repeats; in brackets the interval that holds the true median with ${(row.rps.confidence * 100).toFixed(0)} % confidence.`,
        ];
  return [...textTable([head, under, ...body]), ...confidence];
}

/** `1,234,567/s a · p50 0.567 ms` with the letters of its warnings. */
function cell(row: ResultRow | undefined, notes: readonly WarningNote[]): string {
  if (row === undefined) return "not measured";
  const letters = row.warnings
    .map(({ code }) => noteLetter(notes, code))
    .sort()
    .join("");
  const hits = row.hitRatio === null ? "" : ` · ${(row.hitRatio * 100).toFixed(1)} % hits`;
  return `${formatCount(row.rps.median)}/s${letters === "" ? "" : ` [${letters}]`} · p50 ${formatMs(row.p50Ms)} ms${row.isOpenLoop ? `, p99 ${formatMs(row.p99Ms)} ms` : ""}${hits}`;
}

/** `cluster: 41,200/s within p99 ≤ 2 ms (steady); …` */
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
    capacity === 0
      ? "no load that was tried holds"
      : `${isOpenEnded ? "at least " : ""}${formatCount(capacity)}/s hold`;
  const beyond =
    bottleneck === null
      ? ""
      : `; beyond, the bottleneck is the ${bottleneck.at}${bottleneck.text === undefined ? "" : ` (${bottleneck.text})`}`.replace(
          "the bottleneck is the none",
          "none is at a limit",
        );
  return `${deployment}: ${rate} ${formatObjective(objective)} (${workload})${knee === null ? "" : `, knee at ${formatCount(knee)}/s`}${beyond}${warnings.length === 0 ? "" : ` [${warnings.map(({ code }) => code).join(", ")}]`}`;
}

/** Keys by the primaries there are, found by role. */
function keyLines({ deployment, nodes }: TopologyRecord): string[] {
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

/** Nothing where no prices are known. */
function costLines(results: Results, comparisons: readonly TestComparison[]): string[] {
  const lines = (results.costs ?? []).flatMap((cost) => {
    const perMillion = comparisons.flatMap(({ title, rows }) =>
      rows.flatMap((row) => (row?.deployment === cost.deployment ? [[title, rowCost(results, row)] as const] : [])),
    );
    const topology = results.topologies.find(({ deployment }) => deployment === cost.deployment);
    const perGib = topology === undefined ? null : storageCost(results, topology);
    const parts = [
      ...perMillion.flatMap(([title, usd]) => (usd === null ? [] : [`${title} $${formatUsd(usd)} per million`])),
      ...(topology === undefined || perGib === null
        ? []
        : [`$${formatUsd(perGib)} per GiB of ${dataLimitOf(topology)} and month`]),
    ];
    return [`${cost.deployment}: ${describeCost(cost)}`, ...(parts.length === 0 ? [] : [`  ${parts.join(", ")}`])];
  });
  return lines.length === 0 ? [] : ["", "=== Cost of the servers ===", ...lines];
}

function warningLines(notes: readonly WarningNote[]): string[] {
  if (notes.length === 0) return [NO_WARNINGS];
  return notes.map((note) => `[${noteLetter(notes, note.code)}] ${note.code}: ${note.text} (${note.where.join(", ")})`);
}

/** `3 primaries + 3 replicas`, by role. */
export function describeShape({ nodes }: Pick<TopologyRecord, "nodes">): string {
  const count = (role: "primary" | "replica"): number => nodes.filter((node) => node.role === role).length;
  const primaries = count("primary");
  const replicas = count("replica");
  return `${primaries} ${primaries === 1 ? "primary" : "primaries"} + ${replicas} ${replicas === 1 ? "replica" : "replicas"}`;
}
