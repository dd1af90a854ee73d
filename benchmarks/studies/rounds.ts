/** The order of a study's measurements, and when it knows enough. Pure: the same seed and the same findings give the same. */
import type { Ratio } from "../../lib/statistics/ratio";
import { isPrecise, roundsNeeded } from "../../lib/statistics/ratio";
import { randomFrom, shuffled } from "../../lib/statistics/random";

/** Fewer rounds than this a study never plans, unless its budget ends: below it spread is hardly known. See `ASKED_CONFIDENCE`. */
export const MIN_ROUNDS = 6;

export type StudyStep =
  | { readonly kind: "reference-load"; readonly round: number; readonly place: number }
  | { readonly kind: "treatment"; readonly round: number; readonly treatment: string }
  | { readonly kind: "interleaved"; readonly round: number; readonly base: string; readonly other: string };

/**
 * One round: every treatment once and every pair side by side once, in an order of its own, a reference load before the first of them and one somewhere among them.
 * @param pairs of treatments, by their ids
 * @param round from 1
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

/** What a step measures: a treatment's id, or what two of them are called together. */
export function stepSubject(step: Exclude<StudyStep, { kind: "reference-load" }>): string {
  return step.kind === "treatment" ? step.treatment : `${step.other} beside ${step.base}`;
}

/** What a step is on the log. */
export function stepKey(step: StudyStep): string {
  return `${step.round} ${step.kind === "reference-load" ? `reference load ${step.place}` : stepSubject(step)}`;
}

export interface StudyProgress {
  /** Rounds that are finished. */
  readonly rounds: number;
  /** Seconds of measuring so far, without pauses between interruption and resumption. */
  readonly elapsed: number;
  /** What decides: each comparison as it stands. */
  readonly ratios: readonly Ratio[];
}

export interface StudyLimits {
  /** Part of the metric that matters: 0.05 is 5 %. */
  readonly precision: number;
  /** Seconds. */
  readonly budget: number;
}

export type NextDecision =
  | {
      readonly kind: "go-on";
      /** Rounds in all, as far as can be foreseen. */ readonly planned: number;
      /** Seconds. */ readonly remaining: number | undefined;
    }
  | { readonly kind: "stop"; readonly reason: "precise" | "budget" };

/**
 * Whether another round is worth it: until six are done and every comparison is as precise as wanted, or until another would
 * not fit into the budget. The first round is always done.
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
