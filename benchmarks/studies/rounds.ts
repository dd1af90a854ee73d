import { type Ratio, isPrecise, roundsNeeded } from "../../lib/statistics/ratio";
import { randomFrom, shuffled } from "../../lib/statistics/random";

/** If the budget allows it. With fewer rounds, the spread of the results is hardly visible. */
export const MIN_ROUNDS = 6;

export type StudyStep =
  | { readonly kind: "reference-load"; readonly round: number; readonly place: number }
  | { readonly kind: "treatment"; readonly round: number; readonly treatment: string }
  | { readonly kind: "interleaved"; readonly round: number; readonly base: string; readonly other: string };

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

export function stepSubject(step: Exclude<StudyStep, { kind: "reference-load" }>): string {
  return step.kind === "treatment" ? step.treatment : `${step.other} beside ${step.base}`;
}

export function stepKey(step: StudyStep): string {
  return `${step.round} ${step.kind === "reference-load" ? `reference load ${step.place}` : stepSubject(step)}`;
}

interface StudyProgress {
  readonly rounds: number;
  /** The time between an interruption and the resumption is not counted. */
  readonly elapsed: number;
  readonly ratios: readonly Ratio[];
}

export interface StudyLimits {
  readonly precision: number;
  /** This is the greatest number of seconds that the study is allowed to spend on measuring. */
  readonly budget: number;
}

export type NextDecision =
  | {
      readonly kind: "go-on";
      readonly planned: number;
      /** Expected seconds until the end of the study; undefined before the first round. */
      readonly remaining: number | undefined;
    }
  | { readonly kind: "stop"; readonly reason: "precise" | "budget" };

/** After at least six rounds, if every deciding ratio is precise, or if one more would exceed the budget. */
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
