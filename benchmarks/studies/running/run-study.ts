import { Failure, messageOf } from "../../../lib/errors";
import type { ReportProgress } from "../../../lib/progress";
import { randomFrom } from "../../../lib/statistics/random";
import { formatDuration } from "../../../lib/units";
import { measuredSeconds, givenUpReasonOf, givenUpReason, analysisOf, entryKey } from "../evaluation/evaluate";
import type { StudyState } from "../evaluation/evaluate";
import type { StudyEnvironment } from "./treatment-servers";
import type { Treatment } from "../factors";
import type { StudyLogEntry, StudyCheckpointLog } from "../checkpoint-log";
import { type TreatmentPair, interleavedPairs } from "../pairs";
import { pinningOf } from "../pinning";
import { type NextDecision, type StudyStep, decideNext, stepKey, stepsOfRound, stepSubject } from "../rounds";
import { measureReferenceRate, measureTreatment } from "./measure-treatment";
import { measureInterleaved } from "./measure-interleaved";
import type { Study } from "../study";

/** In tests, a different runner checks the order of the steps without servers. */
export interface StepRunner {
  readonly referenceLoad: (round: number, place: number) => Promise<StudyLogEntry>;
  /** @param ceiling requests per second of the last reference load */
  readonly treatment: (treatment: Treatment, round: number, ceiling: number) => Promise<StudyLogEntry>;
  readonly interleaved: (pair: TreatmentPair, round: number) => Promise<StudyLogEntry>;
}

export function hostStepRunner(study: Study, cpus: readonly number[], environment: StudyEnvironment): StepRunner {
  return {
    referenceLoad: (round, place) => measureReferenceRate(round, place, environment),
    treatment: (treatment, round, ceiling) =>
      measureTreatment(treatment, round, ceiling, study.tableGrowth, pinningOf(treatment, cpus), environment),
    interleaved: (pair, round) =>
      measureInterleaved(
        pair,
        round,
        [pinningOf(pair.base, cpus), pinningOf(pair.other, cpus)],
        randomOf(study, pair, round),
        environment,
      ),
  };
}

/** A study with the same seed gets the same numbers. */
function randomOf({ treatments, seed }: Study, { base, other }: TreatmentPair, round: number): () => number {
  return randomFrom(
    seed + Math.imul(round, 0x9e3779b1) + treatments.indexOf(base) * treatments.length + treatments.indexOf(other) + 1,
  );
}

/**
 * Finished steps are in the log before the next one begins, and are not repeated. Who fails twice in succession is
 * given up until the study is resumed.
 * @throws the signal's reason; Failure if a reference load or all treatments failed
 */
export async function runStudy(
  study: Study,
  log: StudyCheckpointLog,
  cpus: readonly number[],
  runner: StepRunner,
  signal: AbortSignal,
  listener: { readonly report: ReportProgress; readonly round: (state: StudyState, isNew: boolean) => void },
): Promise<StudyState> {
  const done = new Set(log.entries.map(entryKey));
  const state = (rounds: number, ended: StudyState["ended"]): StudyState => ({
    study,
    entries: log.entries,
    cpus,
    rounds,
    ended,
  });
  const ids = study.treatments.map(({ id }) => id);
  const pairs = interleavedPairs(study.treatments).map(({ base, other }) => ({ base: base.id, other: other.id }));
  const begun = log.entries.length;
  const sinceBegun = (): readonly StudyLogEntry[] => log.entries.slice(begun);
  const lastRound = log.entries.at(-1)?.round ?? 0;
  for (let rounds = 0; ; rounds++) {
    const steps = stepsOfRound(ids, pairs, study.seed, rounds + 1);
    const decision = decisionOf(study, log.entries, rounds, sinceBegun());
    if (decision.kind === "stop") return state(rounds, decision.reason);
    const before = log.entries.length;
    for (const step of steps) {
      // A missing step of an earlier round is not measured later, because the machine may have changed since that
      // round.
      if (
        done.has(stepKey(step)) ||
        step.round < lastRound ||
        isGivenUp(step, step.round === lastRound ? log.entries : sinceBegun())
      )
        continue;
      signal.throwIfAborted();
      listener.report(`${describeProgress(study, log.entries, decision, rounds + 1)} · ${describeStep(study, step)}`);
      log.add(await measured(study, step, log.entries, runner, signal, listener.report));
      done.add(stepKey(step));
    }
    const failures = study.treatments.map((treatment) => givenUpReason(treatment, sinceBegun()));
    if (failures.every((failure) => failure !== undefined))
      throw new Failure(
        `all treatments failed: ${study.treatments.map(({ label }, index) => `${label}: ${failures[index] ?? ""}`).join("; ")}`,
      );
    listener.round(state(rounds + 1, "not-yet"), log.entries.length > before);
  }
}

function decisionOf(
  study: Study,
  entries: readonly StudyLogEntry[],
  rounds: number,
  tried: readonly StudyLogEntry[],
): NextDecision {
  const finished = entries.filter((entry) => entry.round <= rounds);
  const ratios = analysisOf({ study, entries: finished }).decidingRatios(
    (treatment) => givenUpReason(treatment, tried) !== undefined,
  );
  return decideNext({ rounds, elapsed: measuredSeconds(finished), ratios }, study);
}

async function measured(
  study: Study,
  step: StudyStep,
  entries: readonly StudyLogEntry[],
  runner: StepRunner,
  signal: AbortSignal,
  report: ReportProgress,
): Promise<StudyLogEntry> {
  if (step.kind === "reference-load") return runner.referenceLoad(step.round, step.place);
  const began = performance.now();
  try {
    if (step.kind === "interleaved")
      return await runner.interleaved(
        { base: treatmentOf(study, step.base), other: treatmentOf(study, step.other) },
        step.round,
      );
    return await runner.treatment(treatmentOf(study, step.treatment), step.round, lastReferenceLoad(entries));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Failure)) throw error;
    report(`${describeStep(study, step)} failed: ${messageOf(error).split("\n")[0] ?? ""}`);
    return {
      kind: "failure",
      round: step.round,
      treatment: stepSubject(step),
      seconds: (performance.now() - began) / 1000,
      reason: messageOf(error),
    };
  }
}

function treatmentOf({ treatments }: Study, id: string): Treatment {
  const treatment = treatments.find((each) => each.id === id);
  if (treatment === undefined) throw new Error(`the study has no treatment ${id}`);
  return treatment;
}

/** A pair is also given up if one of its treatments was given up. */
function isGivenUp(step: StudyStep, entries: readonly StudyLogEntry[]): boolean {
  if (step.kind === "reference-load") return false;
  const subjects = step.kind === "treatment" ? [step.treatment] : [step.base, step.other, stepSubject(step)];
  return subjects.some((subject) => givenUpReasonOf(subject, entries) !== undefined);
}

function lastReferenceLoad(entries: readonly StudyLogEntry[]): number {
  return entries.reduce((rate, entry) => (entry.kind === "reference-load" ? entry.rps : rate), 0);
}

function describeStep(study: Study, step: StudyStep): string {
  switch (step.kind) {
    case "reference-load":
      return "reference load";
    case "treatment":
      return treatmentOf(study, step.treatment).label;
    case "interleaved":
      return `${treatmentOf(study, step.other).label} beside ${treatmentOf(study, step.base).label}`;
  }
}

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
