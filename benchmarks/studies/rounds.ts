/**
 * The order of a study's steps, and the decision whether to measure one more round. Pure: the same seed gives the same
 * order.
 */
import type { Ratio } from "../../lib/statistics/ratio";
import { isPrecise, roundsNeeded } from "../../lib/statistics/ratio";
import { randomFrom, shuffled } from "../../lib/statistics/random";

/**
 * Lowest number of rounds, if the budget allows this number. With fewer rounds, the spread of the results is hardly
 * visible.
 */
export const MIN_ROUNDS = 6;

export type StudyStep =
  | { readonly kind: "reference-load"; readonly round: number; readonly place: number }
  | { readonly kind: "treatment"; readonly round: number; readonly treatment: string }
  | { readonly kind: "interleaved"; readonly round: number; readonly base: string; readonly other: string };

/**
 * The steps of a round in random order. Every treatment and every pair is measured once. One reference load is sent at
 * the beginning of the round, and a second reference load in the middle.
 * @param pairs IDs of treatments whose measurements are interleaved
 * @param round number of the round, from 1
 */
export function stepsOfRound(
  treatments: readonly string[],
  pairs: readonly { readonly base: string; readonly other: string }[],
  seed: number,
  round: number,
): StudyStep[] {
  const random = randomFrom(seed + Math.imul(round, 0x9e3779b1));
  const all = [
    ...treatments.map((treatment): StudyStep => ({ kind: "treatment", round, treatment })),
    ...pairs.map(({ base, other }): StudyStep => ({ kind: "interleaved", round, base, other })),
  ];
  const steps = shuffled(all, random);
  const among = 1 + Math.floor(random() * Math.max(0, steps.length - 1));
  const referenceLoad = (place: number): StudyStep => ({ kind: "reference-load", round, place });
  return treatments.length < 2
    ? [referenceLoad(1), ...steps]
    : [referenceLoad(1), ...steps.slice(0, among), referenceLoad(2), ...steps.slice(among)];
}

/** Subject of a step: the ID of a treatment, or `other beside base` for a pair. */
export function stepSubject(step: Exclude<StudyStep, { kind: "reference-load" }>): string {
  return step.kind === "treatment" ? step.treatment : `${step.other} beside ${step.base}`;
}

/** Key of a step within a study, such as `3 cluster` or `3 reference load 1`. */
export function stepKey(step: StudyStep): string {
  return `${step.round} ${step.kind === "reference-load" ? `reference load ${step.place}` : stepSubject(step)}`;
}

export interface StudyProgress {
  readonly rounds: number;
  /** Seconds spent on measuring. The time between an interruption and the resumption is not counted. */
  readonly elapsed: number;
  /** The ratios that decide when the study ends, as measured so far. */
  readonly ratios: readonly Ratio[];
}

export interface StudyLimits {
  /** Target relative precision. 0.05 means 5 %. */
  readonly precision: number;
  /** Budget of the study. This is the greatest number of seconds that the study is allowed to spend on measuring. */
  readonly budget: number;
}

export type NextDecision =
  | {
      readonly kind: "go-on";
      /** Expected number of rounds of the whole study. */
      readonly planned: number;
      /** Expected seconds until the end of the study; undefined before the first round. */
      readonly remaining: number | undefined;
    }
  | { readonly kind: "stop"; readonly reason: "precise" | "budget" };

/**
 * Decides whether a study stops. After at least six rounds, the study stops if every deciding ratio has the target
 * precision. The study also stops if one more round would exceed the budget. The first round is always measured.
 */
export function decideNext(
  { rounds, elapsed, ratios }: StudyProgress,
  { precision, budget }: StudyLimits,
): NextDecision {
  if (rounds === 0) return { kind: "go-on", planned: MIN_ROUNDS, remaining: undefined };
  const perRound = elapsed / rounds;
  if (rounds >= MIN_ROUNDS && ratios.every((ratio) => isPrecise(ratio, precision)))
    return { kind: "stop", reason: "precise" };
  if (elapsed + perRound > budget) return { kind: "stop", reason: "budget" };
  const needed = ratios.map((ratio) =>
    isPrecise(ratio, precision) ? rounds : (roundsNeeded(ratio, precision) ?? MIN_ROUNDS),
  );
  const fit = Math.floor(budget / perRound);
  const planned = Math.max(rounds + 1, Math.min(fit, Math.max(MIN_ROUNDS, ...needed)));
  return { kind: "go-on", planned, remaining: (planned - rounds) * perRound };
}
