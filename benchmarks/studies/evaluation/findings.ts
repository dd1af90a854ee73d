import type { Ratio } from "../../../lib/statistics/ratio";
import { formatCount } from "../../../lib/units";
import type { StudyFit, TableGrowth } from "../../results/study-schema";
import type { Treatment } from "../factors";
import type { StudyKind } from "../study";
import { type Metric, type StudyAnalysis, groupsVarying } from "./analysis";
import { bytesPerEntry, recurringDips } from "./growth-analysis";

export interface ClaimBasis {
  readonly analysis: StudyAnalysis;
  readonly cores: number;
  readonly versions: ReadonlyMap<string, string>;
  readonly growth: ReadonlyMap<string, readonly TableGrowth[]>;
  readonly growthSize: number | undefined;
  readonly fits: Readonly<Record<"throughput" | "costs", readonly StudyFit[]>>;
}

export const FINDINGS: Readonly<Record<StudyKind, (basis: ClaimBasis) => string[]>> = {
  topologies: (basis) => {
    const modes = modesOf(basis);
    if (modes === undefined) return [];
    const { base, other } = modes;
    return basis.analysis.tests.map(
      ({ test, title }) => `${title}: ${other.label} over ${base.label} is ${ratioText(basis, base, other, test)}`,
    );
  },
  "io-threads": (basis) =>
    basis.analysis.tests.flatMap(({ test, title }) =>
      threadGroups(basis).flatMap((group) => describeGroup(basis, group, test, title)),
    ),
  engines: (basis) => {
    const { treatments, tests } = basis.analysis;
    const [first, ...others] = treatments;
    if (first === undefined) return [];
    return [
      ...tests.flatMap(({ test, title }) =>
        others.map(
          (other) =>
            `${title}: ${nameOf(basis, other)} over ${nameOf(basis, first)} is ${ratioText(basis, first, other, test)}`,
        ),
      ),
      ...treatments.flatMap((treatment) => memoryFindings(basis, treatment)),
      ...treatments.flatMap((treatment) => dipFindings(basis, treatment)),
    ];
  },
  density: ({ fits }) => fits.throughput.map(describeFit),
  billion: ({ analysis, fits }) => [
    ...analysis.tests.flatMap(({ test, title }) =>
      analysis.treatments.map((treatment) => {
        const rate = describeMedian(analysis, treatment, test, "throughput");
        const cpu = describeMedian(analysis, treatment, test, "cpu-per-operation");
        return `${title}, ${treatment.label}: ${rate}, ${cpu} µs of the servers' CPU per operation`;
      }),
    ),
    ...[...fits.throughput, ...fits.costs].map(describeFit),
  ],
  comparison: () => [],
};

export function modesOf({ analysis }: ClaimBasis): { base: Treatment; other: Treatment } | undefined {
  const clusters = analysis.treatments.filter(({ mode }) => mode === "cluster");
  const base = analysis.treatments.find(({ mode }) => mode === "replication");
  const other = clusters.find(({ shape }) => shape.primaries === 3) ?? clusters[0];
  return base === undefined || other === undefined ? undefined : { base, other };
}

export function threadGroups({ analysis }: ClaimBasis): Treatment[][] {
  return groupsVarying(analysis.treatments, "io-threads").map((group) =>
    [...group].sort((a, b) => threadsOf(a) - threadsOf(b)),
  );
}

export function threadsOf({ settings }: Treatment): number {
  return settings["io-threads"] ?? 1;
}

function describeGroup(basis: ClaimBasis, group: readonly Treatment[], test: string, title: string): string[] {
  if (group.length < 2) return [];
  const medians = group.map(
    (treatment) => `${threadsOf(treatment)}: ${describeMedian(basis.analysis, treatment, test, "throughput")}`,
  );
  return [
    `${title} by io-threads: ${medians.join(", ")}`,
    `${title}: ${describeBest(basis, group, test)}`,
    `${title}: ${describeStep(basis, group, test)}`,
  ];
}

/** The fewest io-threads of equally fast ones: idle io-threads spin. */
function describeBest({ analysis }: ClaimBasis, group: readonly Treatment[], test: string): string {
  const verdict = (base: Treatment, other: Treatment): Ratio["verdict"] =>
    analysis.ratio(base, other, test, "throughput").verdict;
  const best = group.find(
    (treatment) =>
      analysis.series(treatment, test, "throughput").size > 0 &&
      group.every((other) => other === treatment || verdict(treatment, other) !== "greater"),
  );
  if (best === undefined) return "the measurements do not show which number of io-threads is the best";
  const undecided = group.filter((other) => other !== best && verdict(best, other) === "not-enough-data");
  const rest = undecided.length === 0 ? "" : `; not enough data on ${undecided.map(threadsOf).join(", ")}`;
  return `the best number of io-threads is ${threadsOf(best)}: the lowest number for which the measurements show no better one${rest}`;
}

/** Where throughput falls for too many io-threads: from the most below the number of cores to the first slower one. */
function describeStep(basis: ClaimBasis, group: readonly Treatment[], test: string): string {
  const { analysis, cores } = basis;
  const from = group.filter((treatment) => threadsOf(treatment) < cores).at(-1);
  const to = group.find(
    (treatment) =>
      from !== undefined &&
      threadsOf(treatment) >= cores &&
      analysis.ratio(from, treatment, test, "throughput").verdict === "less",
  );
  if (from === undefined || to === undefined)
    return `the measurements do not show that ${cores} or more threads on ${cores} cores lower throughput`;
  return (
    `the step from ${threadsOf(from)} to ${threadsOf(to)} threads on ${cores} cores multiplies throughput by ${ratioText(basis, from, to, test)}: ` +
    "keep io-threads below the number of cores of the server"
  );
}

function nameOf({ versions }: ClaimBasis, { id, label }: Treatment): string {
  const version = versions.get(id);
  return version === undefined ? label : `${label} (${version})`;
}

function memoryFindings(basis: ClaimBasis, treatment: Treatment): string[] {
  const [growth] = basis.growth.get(treatment.id) ?? [];
  const entries = growth === undefined ? undefined : bytesPerEntry(growth);
  if (entries === undefined) return [];
  const { min, max, minAtKeys, maxAtKeys } = entries;
  return [
    `${nameOf(basis, treatment)}: ${min.toFixed(0)} to ${max.toFixed(0)} bytes per entry ` +
      `(at ${formatCount(minAtKeys)} and ${formatCount(maxAtKeys)} keys), a range of ${percentOver(max, min)} %`,
  ];
}

function dipFindings(basis: ClaimBasis, treatment: Treatment): string[] {
  const rounds = basis.growth.get(treatment.id) ?? [];
  if (rounds.length < 2) return [];
  const dips = recurringDips(rounds).map(
    ({ keys, part }) => `${(part * 100).toFixed(0)} % near ${formatCount(keys)} keys`,
  );
  const found =
    dips.length === 0 ? "no dip below 70 % of the median rate recurs" : `recurring dips: to ${dips.join(", ")}`;
  return [`${nameOf(basis, treatment)}, insertion of new keys: ${found} (${rounds.length} rounds)`];
}

export function percentOver(max: number, min: number): string {
  return ((max / min - 1) * 100).toFixed(0);
}

function describeFit({ title, what, exponent, treatments, excluded }: StudyFit): string {
  const names = excluded.map(({ treatment, why }) => `${treatment} (${why})`).join(", ");
  const found =
    exponent === null
      ? "no exponent, because the servers were the limit in too few treatments"
      : `exponent ${describeExponent(exponent)} of ${treatments.length} treatments`;
  return `${title}, ${what}: ${found}${excluded.length === 0 ? "" : `; excluded: ${names}`}`;
}

export function describeExponent({ estimate, low, high }: NonNullable<StudyFit["exponent"]>): string {
  return `${estimate.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
}

export function describeRatio({ ratio, low, high }: Ratio): string {
  if (ratio === undefined) return "not measured";
  return low === undefined || high === undefined
    ? `${ratio.toFixed(2)} (too few rounds for an interval)`
    : `${ratio.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
}

function ratioText({ analysis }: ClaimBasis, base: Treatment, other: Treatment, test: string): string {
  return describeRatio(analysis.ratio(base, other, test, "throughput"));
}

function describeMedian(analysis: StudyAnalysis, treatment: Treatment, test: string, metric: Metric): string {
  const value = analysis.median(treatment, test, metric);
  if (value === undefined) return "not measured";
  return metric === "throughput" ? `${formatCount(value)}/s` : value.toPrecision(3);
}
