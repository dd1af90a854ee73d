import { asMeasuredTopology } from "../../results/environment";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import { REFERENCE_LOAD_LIMIT, referenceLoadWarnings } from "../../warnings/warnings";
import type { ReferenceLoadRecord, Warning, Environment, MeasurementRecord, Results } from "../../results/schema";
import { SCHEMA_VERSION } from "../../results/schema";
import type { StudyFit, StudyRecord } from "../../results/study-schema";
import { median } from "../../../lib/statistics/median";
import { coresNeeded, judgedClaims, limitName } from "./claims";
import { type ClaimBasis, FINDINGS } from "./findings";
import { StudyAnalysis } from "./analysis";
import type { Treatment } from "../factors";
import type { TreatmentEntry, StudyLogEntry, InterleavedEntry } from "../checkpoint-log";
import { pinningOf } from "../pinning";
import { stepKey, stepSubject } from "../rounds";
import type { Study } from "../study";

const MAX_CONSECUTIVE_FAILURES = 2;

export interface StudyState {
  readonly study: Study;
  readonly entries: readonly StudyLogEntry[];
  readonly cpus: readonly number[];
  readonly rounds: number;
  readonly ended: StudyRecord["ended"];
}

export function analysisOf({ study, entries }: Pick<StudyState, "study" | "entries">): StudyAnalysis {
  return new StudyAnalysis(
    study.treatments,
    treatmentEntries(entries).flatMap(({ records }) => records),
    study.precision,
    interleavedEntries(entries),
  );
}

/** Without the pairs that were given up, whose treatments are compared by their separate measurements. */
function interleavedEntries(entries: readonly StudyLogEntry[]): InterleavedEntry[] {
  return entries
    .filter((entry) => entry.kind === "interleaved")
    .filter((entry) => givenUpReasonOf(stepSubject(entry), entries) === undefined);
}

function treatmentEntries(entries: readonly StudyLogEntry[]): TreatmentEntry[] {
  return entries.filter((entry) => entry.kind === "treatment");
}

/** The time between an interruption and the resumption does not count. */
export function measuredSeconds(entries: readonly StudyLogEntry[]): number {
  return entries.reduce((sum, { seconds }) => sum + seconds, 0);
}

export function givenUpReason(treatment: Treatment, entries: readonly StudyLogEntry[]): string | undefined {
  return givenUpReasonOf(treatment.id, entries);
}

export function givenUpReasonOf(subject: string, entries: readonly StudyLogEntry[]): string | undefined {
  const own = entries
    .filter((entry) => entry.kind !== "reference-load" && subjectOfEntry(entry) === subject)
    .slice(-MAX_CONSECUTIVE_FAILURES);
  const last = own.at(-1);
  return own.length === MAX_CONSECUTIVE_FAILURES &&
    last?.kind === "failure" &&
    own.every(({ kind }) => kind === "failure")
    ? last.reason
    : undefined;
}

function subjectOfEntry(entry: Exclude<StudyLogEntry, { kind: "reference-load" }>): string {
  return entry.kind === "failure" ? entry.treatment : stepSubject(entry);
}

export function entryKey(entry: StudyLogEntry): string {
  return stepKey(
    entry.kind === "failure" ? { kind: "treatment", round: entry.round, treatment: entry.treatment } : entry,
  );
}

export function evaluateStudy(state: StudyState): StudyRecord {
  const { study, entries, cpus, rounds, ended } = state;
  const analysis = analysisOf(state);
  const basis = basisOf(state, analysis);
  return {
    name: study.name,
    kind: study.kind,
    seed: study.seed,
    precision: study.precision,
    budgetSeconds: study.budget,
    elapsedSeconds: measuredSeconds(entries),
    rounds,
    ended,
    treatments: study.treatments.map((treatment) => ({
      id: treatment.id,
      label: treatment.label,
      levels: { ...treatment.levels },
      shared: pinningOf(treatment, cpus)?.sharedCpus ?? null,
      failed: givenUpReason(treatment, entries) ?? null,
    })),
    order: entries.flatMap((entry) => (entry.kind === "failure" ? [] : [entryKey(entry)])),
    referenceLoadMoved: referenceLoadMoved(entries),
    comparisons: analysis.comparisons(),
    interleaved: interleavedEntries(entries).map(({ round, base, other, tests }) => ({ round, base, other, tests })),
    fits: [...basis.fits.throughput, ...basis.fits.costs],
    growth: treatmentEntries(entries).flatMap(({ treatment, round, growth }) =>
      growth === null ? [] : [{ treatment, round, samples: growth.samples }],
    ),
    findings: FINDINGS[study.kind](basis),
    claims: judgedClaims(study.kind, basis),
  };
}

/** One moved reference load is enough, because it is unknown when the machine changed. */
function referenceLoadMoved(entries: readonly StudyLogEntry[]): boolean {
  const rates = entries.flatMap((entry) => (entry.kind === "reference-load" ? [entry.rps] : []));
  return rates.length > 0 && rates.some((rate) => Math.abs(rate / median(rates) - 1) > REFERENCE_LOAD_LIMIT);
}

function scalingFits(
  { study: { kind }, cpus }: StudyState,
  analysis: StudyAnalysis,
): Readonly<Record<"throughput" | "costs", StudyFit[]>> {
  const limitOf = (treatment: Treatment, test: string): string | undefined =>
    pinningOf(treatment, cpus)?.sharedCpus ?? lackingCores(treatment, cpus) ?? measuredLimit(analysis, treatment, test);
  const unlessCluster = ({ mode }: Treatment): string | undefined => (mode === "cluster" ? undefined : "not a cluster");
  const hasRate = (fit: StudyFit, isOffered: boolean): boolean =>
    [...fit.treatments, ...fit.excluded.map(({ treatment }) => treatment)].some(
      (id) => (analysis.treatment(id)?.workload.rate !== undefined) === isOffered,
    );
  const scales = kind === "density" || kind === "billion";
  const throughput = scales ? analysis.fits("throughput", limitOf) : [];
  const costs = kind === "billion" ? analysis.fits("cpu-per-operation", unlessCluster) : [];
  return {
    throughput: throughput.filter((fit) => hasRate(fit, false)),
    costs: costs.filter((fit) => hasRate(fit, true)),
  };
}

function lackingCores(treatment: Treatment, cpus: StudyState["cpus"]): string | undefined {
  const needed = coresNeeded([treatment]);
  if (treatment.cpus !== undefined || cpus.length >= needed) return undefined;
  return `needs ${needed} cores, including the load generator`;
}

function measuredLimit(analysis: StudyAnalysis, treatment: Treatment, test: string): string | undefined {
  const by = analysis.limitedBy(treatment, test);
  return by === undefined ? undefined : `limited by the ${limitName(by)}`;
}

function basisOf(state: StudyState, analysis: StudyAnalysis): ClaimBasis {
  const { study, entries, cpus } = state;
  const treatments = treatmentEntries(entries);
  const growth = new Map(
    analysis.treatments.map(({ id }) => [
      id,
      treatments.flatMap((entry) => (entry.treatment === id && entry.growth !== null ? [entry.growth] : [])),
    ]),
  );
  return {
    analysis,
    cores: cpus.length,
    versions: new Map(treatments.map(({ treatment, topology }) => [treatment, topology.version])),
    growth,
    growthSize: study.tableGrowth?.dataSize,
    fits: scalingFits(state, analysis),
  };
}

interface StudyDescription {
  readonly timestamp: string;
  readonly stack: string;
  readonly configuration: unknown;
  readonly environment: Environment;
}

/** @param reason reason why the results are incomplete; null if they are complete */
export function studyResults(state: StudyState, description: StudyDescription, reason: string | null): Results {
  const treatments = treatmentEntries(state.entries);
  const topologies = new Map<string, TopologyRecord>();
  for (const { treatment, topology } of treatments) if (!topologies.has(treatment)) topologies.set(treatment, topology);
  const referenceLoads = state.entries.flatMap((entry): ReferenceLoadRecord[] =>
    entry.kind === "reference-load" ? [{ round: entry.round, rps: entry.rps, startedAt: entry.startedAt }] : [],
  );
  const moved = movedWarning(referenceLoads);
  return {
    schema: SCHEMA_VERSION,
    ...description,
    complete: reason === null,
    reason,
    // Topologies have the order of the treatments, so the baseline comes first.
    topologies: state.study.treatments.flatMap(({ id }) => {
      const topology = topologies.get(id);
      return topology === undefined ? [] : [asMeasuredTopology(topology)];
    }),
    referenceLoads,
    records: treatments
      .flatMap(({ records }) => records)
      .map((record): MeasurementRecord => ({ ...record, warnings: [...record.warnings, ...moved] })),
    capacities: [],
    scenarios: [],
    study: evaluateStudy(state),
  };
}

/** If a single reference load differs, every record gets the warning: it is unknown when the machine changed. */
function movedWarning(referenceLoads: readonly ReferenceLoadRecord[]): Warning[] {
  const rounds = [...new Set(referenceLoads.map(({ round }) => round))];
  return rounds.flatMap((round) => referenceLoadWarnings(round, referenceLoads)).slice(0, 1);
}
