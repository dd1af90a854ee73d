/** From what a study has finished to what it says: comparisons, fits, findings, and its document's claims. Pure. */
import { REFERENCE_LOAD_LIMIT } from "../measuring/warnings";
import type { StudyFit, StudyRecord } from "../results/study-schema";
import { median } from "../../lib/statistics/median";
import type { Conclusions, ClaimBasis } from "./claims/claim";
import { coresNeeded } from "./claims/claim";
import { engineConclusions } from "./claims/engines";
import { ioThreadConclusions } from "./claims/io-threads";
import { billionConclusions, densityConclusions } from "./claims/shards";
import { topologyConclusions } from "./claims/topologies";
import { StudyAnalysis } from "./analysis";
import type { Treatment } from "./factors";
import type { TreatmentEntry, StudyLogEntry, InterleavedEntry } from "./checkpoint-log";
import { pinningOf } from "./pinning";
import { stepKey, stepSubject } from "./rounds";
import type { Study } from "./study";

/** How often in succession a cell may fail before it is given up. */
export const MAX_CONSECUTIVE_FAILURES = 2;

export interface StudyState {
  readonly study: Study;
  readonly entries: readonly StudyLogEntry[];
  /** The CPUs that servers and load generators share. */
  readonly cpus: readonly number[];
  /** Rounds that are finished. */
  readonly rounds: number;
  readonly ended: StudyRecord["ended"];
}

export function analysisOf({ study, entries }: Pick<StudyState, "study" | "entries">): StudyAnalysis {
  return new StudyAnalysis(
    study.treatments,
    treatmentEntries(entries).flatMap(({ records }) => records),
    study.precision,
    sideBySideEntries(entries),
  );
}

/** Without pairs that were given up: what was measured one after the other stands in for them. */
function sideBySideEntries(entries: readonly StudyLogEntry[]): InterleavedEntry[] {
  return entries
    .filter((entry) => entry.kind === "side-by-side")
    .filter((entry) => givenUpReasonOf(stepSubject(entry), entries) === undefined);
}

export function treatmentEntries(entries: readonly StudyLogEntry[]): TreatmentEntry[] {
  return entries.filter((entry) => entry.kind === "cell");
}

/** Seconds of measuring, without pauses. */
export function measuredSeconds(entries: readonly StudyLogEntry[]): number {
  return entries.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Why a cell was given up; undefined while it is worth trying. */
export function givenUpReason(cell: Treatment, entries: readonly StudyLogEntry[]): string | undefined {
  return givenUpReasonOf(cell.id, entries);
}

/** The same of whatever a turn measures. @param subject see `subjectOf` */
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
  return entry.kind === "failure" ? entry.cell : stepSubject(entry);
}

/** What an entry is of: that of the turn it was. */
export function entryKey(entry: StudyLogEntry): string {
  return stepKey(entry.kind === "failure" ? { kind: "cell", round: entry.round, cell: entry.cell } : entry);
}

export function evaluateStudy(state: StudyState): StudyRecord {
  const { study, entries, cpus, rounds, ended } = state;
  const findings = analysisOf(state);
  const sharedWhy = (cell: Treatment): string | undefined => pinningOf(cell, cpus)?.sharedCpus;
  const limited = (cell: Treatment, test: string): string | undefined => {
    const by = findings.limitedBy(cell, test);
    const needed = coresNeeded([cell]);
    const small =
      cell.cpus === undefined && cpus.length < needed
        ? `takes ${needed} cores, its load generator's with it`
        : undefined;
    return (
      sharedWhy(cell) ??
      small ??
      (by === undefined ? undefined : `limited by the ${by === "client" ? "load generator" : "machine"}`)
    );
  };
  const ofRate =
    (offered: boolean) =>
    (fit: StudyFit): boolean =>
      fit.cells
        .concat(fit.excluded.map(({ cell }) => cell))
        .some((id) => (findings.treatment(id)?.workload.rate !== undefined) === offered);
  const scales = study.kind === "density" || study.kind === "billion";
  const throughput = scales ? findings.fits("throughput", limited).filter(ofRate(false)) : [];
  const costs =
    study.kind === "billion"
      ? findings
          .fits("cpu-per-operation", (cell) => (cell.mode === "cluster" ? undefined : "no cluster"))
          .filter(ofRate(true))
      : [];
  const { findings: sentences, claims } = conclusions(study, groundOf(state, findings), throughput, costs);
  return {
    name: study.name,
    kind: study.kind,
    seed: study.seed,
    precision: study.precision,
    budgetSeconds: study.budget,
    elapsedSeconds: measuredSeconds(entries),
    rounds,
    ended,
    cells: study.treatments.map((cell) => ({
      id: cell.id,
      label: cell.label,
      levels: { ...cell.levels },
      shared: sharedWhy(cell) ?? null,
      failed: givenUpReason(cell, entries) ?? null,
    })),
    order: entries.flatMap((entry) => (entry.kind === "failure" ? [] : [entryKey(entry)])),
    referenceLoadMoved: referenceLoadMoved(entries),
    comparisons: findings.comparisons(),
    sideBySide: sideBySideEntries(entries).map(({ round, base, other, tests }) => ({ round, base, other, tests })),
    fits: [...throughput, ...costs],
    growth: treatmentEntries(entries).flatMap(({ cell, round, growth }) =>
      growth === null ? [] : [{ cell, round, samples: growth.samples }],
    ),
    findings: [...sentences],
    claims: [...claims],
  };
}

/** One is enough to mark the whole study: nobody knows since when. */
export function referenceLoadMoved(entries: readonly StudyLogEntry[]): boolean {
  const rates = entries.flatMap((entry) => (entry.kind === "reference-load" ? [entry.rps] : []));
  return rates.length > 0 && rates.some((rate) => Math.abs(rate / median(rates) - 1) > REFERENCE_LOAD_LIMIT);
}

function groundOf({ study, entries, cpus }: StudyState, findings: StudyAnalysis): ClaimBasis {
  const cells = treatmentEntries(entries);
  const growth = new Map(
    findings.treatments.map(({ id }) => [
      id,
      cells.flatMap((entry) => (entry.cell === id && entry.growth !== null ? [entry.growth] : [])),
    ]),
  );
  return {
    analysis: findings,
    cores: cpus.length,
    versions: new Map(cells.map(({ cell, topology }) => [cell, topology.version])),
    growth,
    growthSize: study.tableGrowth?.dataSize,
  };
}

function conclusions(
  { kind }: Study,
  ground: ClaimBasis,
  throughput: readonly StudyFit[],
  costs: readonly StudyFit[],
): Conclusions {
  switch (kind) {
    case "topologies":
      return topologyConclusions(ground);
    case "io-threads":
      return ioThreadConclusions(ground);
    case "engines":
      return engineConclusions(ground);
    case "density":
      return densityConclusions(ground, throughput);
    case "billion":
      return billionConclusions(ground, throughput, costs);
    case "comparison":
      return { findings: [], claims: [] };
  }
}
