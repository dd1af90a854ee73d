/** A study from where its journal ends until it knows enough. */
import { Failure, messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import { randomFrom } from "../../lib/statistics/random";
import { formatDuration } from "../../lib/units";
import { measuredSeconds, givenUpReasonOf, givenUpReason, analysisOf, entryKey } from "./evaluate";
import type { StudyState } from "./evaluate";
import type { StudyEnvironment } from "./treatment-servers";
import type { Treatment } from "./factors";
import type { StudyLogEntry, StudyCheckpointLog } from "./checkpoint-log";
import type { TreatmentPair } from "./pairs";
import { interleavedPairs } from "./pairs";
import { pinningOf } from "./pinning";
import type { NextDecision, StudyStep } from "./rounds";
import { decideNext, stepKey, stepsOfRound, stepSubject } from "./rounds";
import { measureReferenceLoad, measureTreatment } from "./measure-treatment";
import { measureInterleaved } from "./measure-interleaved";
import type { Study } from "./study";

/** Who measures a turn; told apart so that the order of things is tested without servers. */
export interface StepRunner {
  readonly referenceLoad: (round: number, place: number) => Promise<StudyLogEntry>;
  /** @param ceiling requests per second of the last reference load */
  readonly treatment: (cell: Treatment, round: number, ceiling: number) => Promise<StudyLogEntry>;
  /** Both at once, in alternating slices. */
  readonly interleaved: (pair: TreatmentPair, round: number) => Promise<StudyLogEntry>;
}

/** On real servers of this machine. */
export function hostStepRunner(study: Study, cpus: readonly number[], laboratory: StudyEnvironment): StepRunner {
  return {
    referenceLoad: (round, place) => measureReferenceLoad(round, place, laboratory),
    treatment: (cell, round, ceiling) =>
      measureTreatment(cell, round, ceiling, study.tableGrowth, pinningOf(cell, cpus), laboratory),
    interleaved: (pair, round) =>
      measureInterleaved(
        pair,
        round,
        [pinningOf(pair.base, cpus), pinningOf(pair.other, cpus)],
        randomOf(study, pair, round),
        laboratory,
      ),
  };
}

/** Of a pair and a round: other numbers than its neighbours', and the same when the study is measured again. */
function randomOf({ treatments, seed }: Study, { base, other }: TreatmentPair, round: number): () => number {
  return randomFrom(
    seed + Math.imul(round, 0x9e3779b1) + treatments.indexOf(base) * treatments.length + treatments.indexOf(other) + 1,
  );
}

export interface StudyListener {
  readonly report: ReportProgress;
  /** After each round. @param isNew whether any of it was measured just now, rather than before the study was interrupted */
  readonly round: (state: StudyState, isNew: boolean) => void;
}

/**
 * Measures until `decide` says that it is enough. Each finished turn is on the journal before the next begins; a turn that is
 * there already is not measured again. What fails twice in succession, a cell or a pair, is left out from then on, and tried again when the study is
 * gone on with: whoever does so may have mended it.
 * @throws the signal's reason when told to stop; Failure when a reference load fails, or every cell
 */
export async function runStudy(
  study: Study,
  journal: StudyCheckpointLog,
  cpus: readonly number[],
  bench: StepRunner,
  signal: AbortSignal,
  listener: StudyListener,
): Promise<StudyState> {
  const done = new Set(journal.entries.map(entryKey));
  const state = (rounds: number, ended: StudyState["ended"]): StudyState => ({
    study,
    entries: journal.entries,
    cpus,
    rounds,
    ended,
  });
  const ids = study.treatments.map(({ id }) => id);
  const pairs = interleavedPairs(study.treatments).map(({ base, other }) => ({ base: base.id, other: other.id }));
  const begun = journal.entries.length;
  const sinceBegun = (): readonly StudyLogEntry[] => journal.entries.slice(begun);
  const lastRound = journal.entries.at(-1)?.round ?? 0;
  for (let rounds = 0; ; rounds++) {
    const turns = stepsOfRound(ids, pairs, study.seed, rounds + 1);
    const decision = decisionOf(study, journal.entries, rounds, sinceBegun());
    if (decision.kind === "stop") return state(rounds, decision.reason);
    const before = journal.entries.length;
    for (const turn of turns) {
      // What a finished round lacks it lacks for good: measured now it would be held against what was measured then.
      if (
        done.has(stepKey(turn)) ||
        turn.round < lastRound ||
        isGivenUp(turn, turn.round === lastRound ? journal.entries : sinceBegun())
      )
        continue;
      signal.throwIfAborted();
      listener.report(
        `${describeProgress(study, journal.entries, decision, rounds + 1)} · ${describeTurn(study, turn)}`,
      );
      journal.add(await measured(study, turn, journal.entries, bench, signal, listener.report));
      done.add(stepKey(turn));
    }
    const failures = study.treatments.map((cell) => givenUpReason(cell, sinceBegun()));
    if (failures.every((failure) => failure !== undefined))
      throw new Failure(
        `no cell can be measured: ${study.treatments.map(({ label }, index) => `${label}: ${failures[index] ?? ""}`).join("; ")}`,
      );
    listener.round(state(rounds + 1, "not-yet"), journal.entries.length > before);
  }
}

/** Cells that were given up decide nothing. @param tried entries since the study was begun or gone on with */
function decisionOf(
  study: Study,
  entries: readonly StudyLogEntry[],
  rounds: number,
  tried: readonly StudyLogEntry[],
): NextDecision {
  const finished = entries.filter((entry) => entry.round <= rounds);
  const ratios = analysisOf({ study, entries: finished }).decidingRatios(
    (cell) => givenUpReason(cell, tried) !== undefined,
  );
  return decideNext({ rounds, elapsed: measuredSeconds(finished), ratios }, study);
}

async function measured(
  study: Study,
  turn: StudyStep,
  entries: readonly StudyLogEntry[],
  bench: StepRunner,
  signal: AbortSignal,
  report: ReportProgress,
): Promise<StudyLogEntry> {
  if (turn.kind === "reference-load") return bench.referenceLoad(turn.round, turn.place);
  const began = performance.now();
  try {
    if (turn.kind === "side-by-side")
      return await bench.interleaved({ base: cellOf(study, turn.base), other: cellOf(study, turn.other) }, turn.round);
    return await bench.treatment(cellOf(study, turn.cell), turn.round, lastReferenceLoad(entries));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Failure)) throw error;
    report(`${describeTurn(study, turn)} failed: ${messageOf(error).split("\n")[0] ?? ""}`);
    return {
      kind: "failure",
      round: turn.round,
      cell: stepSubject(turn),
      seconds: (performance.now() - began) / 1000,
      reason: messageOf(error),
    };
  }
}

function cellOf({ treatments }: Study, id: string): Treatment {
  const cell = treatments.find((each) => each.id === id);
  if (cell === undefined) throw new Error(`there is no cell ${id}`);
  return cell;
}

/** Two are measured side by side while each of them is, and both together. */
function isGivenUp(turn: StudyStep, entries: readonly StudyLogEntry[]): boolean {
  if (turn.kind === "reference-load") return false;
  const subjects = turn.kind === "cell" ? [turn.cell] : [turn.base, turn.other, stepSubject(turn)];
  return subjects.some((subject) => givenUpReasonOf(subject, entries) !== undefined);
}

function lastReferenceLoad(entries: readonly StudyLogEntry[]): number {
  return entries.reduce((rate, entry) => (entry.kind === "reference-load" ? entry.rps : rate), 0);
}

function describeTurn(study: Study, turn: StudyStep): string {
  switch (turn.kind) {
    case "reference-load":
      return "reference-load";
    case "cell":
      return cellOf(study, turn.cell).label;
    case "side-by-side":
      return `${cellOf(study, turn.other).label} beside ${cellOf(study, turn.base).label}`;
  }
}

/** `round 3 of about 8, 1m 20s of at most 10m 00s, about 4m 10s left` */
function describeProgress(
  { budget }: Study,
  entries: readonly StudyLogEntry[],
  decision: NextDecision,
  round: number,
): string {
  const elapsed = measuredSeconds(entries);
  const within = entries.filter((entry) => entry.round === round).reduce((sum, { seconds }) => sum + seconds, 0);
  const planned = decision.kind === "go-on" ? decision.planned : round;
  const left =
    decision.kind === "go-on" && decision.remaining !== undefined
      ? `, about ${formatDuration(Math.max(0, decision.remaining - within))} left`
      : "";
  return `round ${round} of about ${planned}, ${formatDuration(elapsed)} of at most ${formatDuration(budget)}${left}`;
}
