/** From what a study has finished to what it says: comparisons, fits, findings, and its document's claims. Pure. */
import { CANARY_LIMIT } from "../measuring/doubts";
import type { StudyFit, StudyRecord } from "../results/study-schema";
import { median } from "../../lib/statistics/median";
import type { Conclusions, Ground } from "./claims/claim";
import { coresFor } from "./claims/claim";
import { engines } from "./claims/engines";
import { ioThreads } from "./claims/io-threads";
import { billion, density } from "./claims/shards";
import { topologies } from "./claims/topologies";
import { Findings } from "./comparisons";
import type { Cell } from "./factors";
import type { CellEntry, JournalEntry, SideBySideEntry } from "./journal";
import { pinningOf } from "./pinning";
import { keyOf, subjectOf } from "./rounds";
import type { Study } from "./study";

/** How often in succession a cell may fail before it is given up. */
export const ATTEMPTS = 2;

export interface StudyState {
  readonly study: Study;
  readonly entries: readonly JournalEntry[];
  /** The CPUs that servers and load generators share. */
  readonly cpus: readonly number[];
  /** Rounds that are finished. */
  readonly rounds: number;
  readonly ended: StudyRecord["ended"];
}

export function findingsOf({ study, entries }: Pick<StudyState, "study" | "entries">): Findings {
  return new Findings(study.cells, cellEntries(entries).flatMap(({ records }) => records), study.precision, sideBySideEntries(entries));
}

/** Without pairs that were given up: what was measured one after the other stands in for them. */
function sideBySideEntries(entries: readonly JournalEntry[]): SideBySideEntry[] {
  return entries.filter((entry) => entry.kind === "side-by-side").filter((entry) => failureIn(subjectOf(entry), entries) === undefined);
}

export function cellEntries(entries: readonly JournalEntry[]): CellEntry[] {
  return entries.filter((entry) => entry.kind === "cell");
}

/** Seconds of measuring, without pauses. */
export function elapsedOf(entries: readonly JournalEntry[]): number {
  return entries.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Why a cell was given up; undefined while it is worth trying. */
export function failureOf(cell: Cell, entries: readonly JournalEntry[]): string | undefined {
  return failureIn(cell.id, entries);
}

/** The same of whatever a turn measures. @param subject see `subjectOf` */
export function failureIn(subject: string, entries: readonly JournalEntry[]): string | undefined {
  const own = entries.filter((entry) => entry.kind !== "canary" && subjectOfEntry(entry) === subject).slice(-ATTEMPTS);
  const last = own.at(-1);
  return own.length === ATTEMPTS && last?.kind === "failure" && own.every(({ kind }) => kind === "failure") ? last.reason : undefined;
}

function subjectOfEntry(entry: Exclude<JournalEntry, { kind: "canary" }>): string {
  return entry.kind === "failure" ? entry.cell : subjectOf(entry);
}

/** What an entry is of: that of the turn it was. */
export function keyOfEntry(entry: JournalEntry): string {
  return keyOf(entry.kind === "failure" ? { kind: "cell", round: entry.round, cell: entry.cell } : entry);
}

export function evaluate(state: StudyState): StudyRecord {
  const { study, entries, cpus, rounds, ended } = state;
  const findings = findingsOf(state);
  const sharedWhy = (cell: Cell): string | undefined => pinningOf(cell, cpus)?.shared;
  const limited = (cell: Cell, test: string): string | undefined => {
    const by = findings.limitedBy(cell, test);
    const needed = coresFor([cell]);
    const small = cell.cpus === undefined && cpus.length < needed ? `takes ${needed} cores, its load generator's with it` : undefined;
    return sharedWhy(cell) ?? small ?? (by === undefined ? undefined : `limited by the ${by === "client" ? "load generator" : "machine"}`);
  };
  const ofRate = (offered: boolean) => (fit: StudyFit): boolean => fit.cells.concat(fit.excluded.map(({ cell }) => cell)).some((id) => (findings.cell(id)?.workload.rate !== undefined) === offered);
  const scales = study.kind === "density" || study.kind === "billion";
  const throughput = scales ? findings.fits("throughput", limited).filter(ofRate(false)) : [];
  const costs = study.kind === "billion" ? findings.fits("cpu-per-operation", (cell) => (cell.mode === "cluster" ? undefined : "no cluster")).filter(ofRate(true)) : [];
  const { findings: sentences, claims } = conclusions(study, groundOf(state, findings), throughput, costs);
  return {
    name: study.name,
    kind: study.kind,
    seed: study.seed,
    precision: study.precision,
    budgetSeconds: study.budget,
    elapsedSeconds: elapsedOf(entries),
    rounds,
    ended,
    cells: study.cells.map((cell) => ({ id: cell.id, label: cell.label, levels: { ...cell.levels }, shared: sharedWhy(cell) ?? null, failed: failureOf(cell, entries) ?? null })),
    order: entries.flatMap((entry) => (entry.kind === "failure" ? [] : [keyOfEntry(entry)])),
    canaryMoved: canaryMoved(entries),
    comparisons: findings.comparisons(),
    sideBySide: sideBySideEntries(entries).map(({ round, base, other, tests }) => ({ round, base, other, tests })),
    fits: [...throughput, ...costs],
    growth: cellEntries(entries).flatMap(({ cell, round, growth }) => (growth === null ? [] : [{ cell, round, samples: growth.samples }])),
    findings: [...sentences],
    claims: [...claims],
  };
}

/** One is enough to mark the whole study: nobody knows since when. */
export function canaryMoved(entries: readonly JournalEntry[]): boolean {
  const rates = entries.flatMap((entry) => (entry.kind === "canary" ? [entry.rps] : []));
  return rates.length > 0 && rates.some((rate) => Math.abs(rate / median(rates) - 1) > CANARY_LIMIT);
}

function groundOf({ study, entries, cpus }: StudyState, findings: Findings): Ground {
  const cells = cellEntries(entries);
  const growth = new Map(findings.cells.map(({ id }) => [id, cells.flatMap((entry) => (entry.cell === id && entry.growth !== null ? [entry.growth] : []))]));
  return { findings, cores: cpus.length, versions: new Map(cells.map(({ cell, topology }) => [cell, topology.version])), growth, growthSize: study.growth?.dataSize };
}

function conclusions({ kind }: Study, ground: Ground, throughput: readonly StudyFit[], costs: readonly StudyFit[]): Conclusions {
  switch (kind) {
    case "topologies":
      return topologies(ground);
    case "io-threads":
      return ioThreads(ground);
    case "engines":
      return engines(ground);
    case "density":
      return density(ground, throughput);
    case "billion":
      return billion(ground, throughput, costs);
    case "comparison":
      return { findings: [], claims: [] };
  }
}
