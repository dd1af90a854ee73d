/** A study from where its journal ends until it knows enough. */
import { Failure, messageOf } from "../../lib/errors";
import type { Report } from "../../lib/progress";
import { randomFrom } from "../../lib/statistics/random";
import { formatDuration } from "../../lib/units";
import { elapsedOf, failureIn, failureOf, findingsOf, keyOfEntry } from "./evaluate";
import type { StudyState } from "./evaluate";
import type { Laboratory } from "./cell-servers";
import type { Cell } from "./factors";
import type { JournalEntry, StudyJournal } from "./journal";
import type { Pair } from "./pairs";
import { sideBySidePairs } from "./pairs";
import { pinningOf } from "./pinning";
import type { Decision, Turn } from "./rounds";
import { decide, keyOf, roundOf, subjectOf } from "./rounds";
import { measureCanary, measureCell } from "./run-cell";
import { measureSideBySide } from "./side-by-side";
import type { Study } from "./study";

/** Who measures a turn; told apart so that the order of things is tested without servers. */
export interface Bench {
  readonly canary: (round: number, place: number) => Promise<JournalEntry>;
  /** @param ceiling requests per second of the last canary */
  readonly cell: (cell: Cell, round: number, ceiling: number) => Promise<JournalEntry>;
  /** Both at once, in alternating slices. */
  readonly sideBySide: (pair: Pair, round: number) => Promise<JournalEntry>;
}

/** On real servers of this machine. */
export function benchOf(study: Study, cpus: readonly number[], laboratory: Laboratory): Bench {
  return {
    canary: (round, place) => measureCanary(round, place, laboratory),
    cell: (cell, round, ceiling) => measureCell(cell, round, ceiling, study.growth, pinningOf(cell, cpus), laboratory),
    sideBySide: (pair, round) => measureSideBySide(pair, round, [pinningOf(pair.base, cpus), pinningOf(pair.other, cpus)], randomOf(study, pair, round), laboratory),
  };
}

/** Of a pair and a round: other numbers than its neighbours', and the same when the study is measured again. */
function randomOf({ cells, seed }: Study, { base, other }: Pair, round: number): () => number {
  return randomFrom(seed + Math.imul(round, 0x9e3779b1) + cells.indexOf(base) * cells.length + cells.indexOf(other) + 1);
}

export interface StudyListener {
  readonly report: Report;
  /** After each round. @param isNew whether any of it was measured just now, rather than before the study was interrupted */
  readonly round: (state: StudyState, isNew: boolean) => void;
}

/**
 * Measures until `decide` says that it is enough. Each finished turn is on the journal before the next begins; a turn that is
 * there already is not measured again. What fails twice in succession, a cell or a pair, is left out from then on, and tried again when the study is
 * gone on with: whoever does so may have mended it.
 * @throws the signal's reason when told to stop; Failure when a canary fails, or every cell
 */
export async function runStudy(study: Study, journal: StudyJournal, cpus: readonly number[], bench: Bench, signal: AbortSignal, listener: StudyListener): Promise<StudyState> {
  const done = new Set(journal.entries.map(keyOfEntry));
  const state = (rounds: number, ended: StudyState["ended"]): StudyState => ({ study, entries: journal.entries, cpus, rounds, ended });
  const ids = study.cells.map(({ id }) => id);
  const pairs = sideBySidePairs(study.cells).map(({ base, other }) => ({ base: base.id, other: other.id }));
  const begun = journal.entries.length;
  const sinceBegun = (): readonly JournalEntry[] => journal.entries.slice(begun);
  const lastRound = journal.entries.at(-1)?.round ?? 0;
  for (let rounds = 0; ; rounds++) {
    const turns = roundOf(ids, pairs, study.seed, rounds + 1);
    const decision = decisionOf(study, journal.entries, rounds, sinceBegun());
    if (decision.kind === "stop") return state(rounds, decision.reason);
    const before = journal.entries.length;
    for (const turn of turns) {
      // What a finished round lacks it lacks for good: measured now it would be held against what was measured then.
      if (done.has(keyOf(turn)) || turn.round < lastRound || isGivenUp(turn, turn.round === lastRound ? journal.entries : sinceBegun())) continue;
      signal.throwIfAborted();
      listener.report(`${describeProgress(study, journal.entries, decision, rounds + 1)} · ${describeTurn(study, turn)}`);
      journal.add(await measured(study, turn, journal.entries, bench, signal, listener.report));
      done.add(keyOf(turn));
    }
    const failures = study.cells.map((cell) => failureOf(cell, sinceBegun()));
    if (failures.every((failure) => failure !== undefined)) throw new Failure(`no cell can be measured: ${study.cells.map(({ label }, index) => `${label}: ${failures[index] ?? ""}`).join("; ")}`);
    listener.round(state(rounds + 1, "not-yet"), journal.entries.length > before);
  }
}

/** Cells that were given up decide nothing. @param tried entries since the study was begun or gone on with */
function decisionOf(study: Study, entries: readonly JournalEntry[], rounds: number, tried: readonly JournalEntry[]): Decision {
  const finished = entries.filter((entry) => entry.round <= rounds);
  const ratios = findingsOf({ study, entries: finished }).deciding((cell) => failureOf(cell, tried) !== undefined);
  return decide({ rounds, elapsed: elapsedOf(finished), ratios }, study);
}

async function measured(study: Study, turn: Turn, entries: readonly JournalEntry[], bench: Bench, signal: AbortSignal, report: Report): Promise<JournalEntry> {
  if (turn.kind === "canary") return bench.canary(turn.round, turn.place);
  const began = performance.now();
  try {
    if (turn.kind === "side-by-side") return await bench.sideBySide({ base: cellOf(study, turn.base), other: cellOf(study, turn.other) }, turn.round);
    return await bench.cell(cellOf(study, turn.cell), turn.round, lastCanary(entries));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Failure)) throw error;
    report(`${describeTurn(study, turn)} failed: ${messageOf(error).split("\n")[0] ?? ""}`);
    return { kind: "failure", round: turn.round, cell: subjectOf(turn), seconds: (performance.now() - began) / 1000, reason: messageOf(error) };
  }
}

function cellOf({ cells }: Study, id: string): Cell {
  const cell = cells.find((each) => each.id === id);
  if (cell === undefined) throw new Error(`there is no cell ${id}`);
  return cell;
}

/** Two are measured side by side while each of them is, and both together. */
function isGivenUp(turn: Turn, entries: readonly JournalEntry[]): boolean {
  if (turn.kind === "canary") return false;
  const subjects = turn.kind === "cell" ? [turn.cell] : [turn.base, turn.other, subjectOf(turn)];
  return subjects.some((subject) => failureIn(subject, entries) !== undefined);
}

function lastCanary(entries: readonly JournalEntry[]): number {
  return entries.reduce((rate, entry) => (entry.kind === "canary" ? entry.rps : rate), 0);
}

function describeTurn(study: Study, turn: Turn): string {
  switch (turn.kind) {
    case "canary":
      return "canary";
    case "cell":
      return cellOf(study, turn.cell).label;
    case "side-by-side":
      return `${cellOf(study, turn.other).label} beside ${cellOf(study, turn.base).label}`;
  }
}

/** `round 3 of about 8, 1m 20s of at most 10m 00s, about 4m 10s left` */
function describeProgress({ budget }: Study, entries: readonly JournalEntry[], decision: Decision, round: number): string {
  const elapsed = elapsedOf(entries);
  const within = entries.filter((entry) => entry.round === round).reduce((sum, { seconds }) => sum + seconds, 0);
  const planned = decision.kind === "go-on" ? decision.planned : round;
  const left = decision.kind === "go-on" && decision.remaining !== undefined ? `, about ${formatDuration(Math.max(0, decision.remaining - within))} left` : "";
  return `round ${round} of about ${planned}, ${formatDuration(elapsed)} of at most ${formatDuration(budget)}${left}`;
}
