import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type NextDecision, decideNext, stepKey, MIN_ROUNDS, stepsOfRound } from "../../../benchmarks/studies/rounds";
import type { Ratio } from "../../../lib/statistics/ratio";
import { forAll } from "../../support/properties";

const treatments = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 12 });
/** Every treatment beside the first. */
const pairsOf = ([base = "", ...others]: readonly string[]): { base: string; other: string }[] =>
  others.map((other) => ({ base, other }));
const seed = fc.integer({ min: 1, max: 1_000_000_000 });
const round = fc.integer({ min: 1, max: 200 });

describe("a round", () => {
  it("has every treatment and pair once, a reference load first and one in between, and no step twice", () => {
    forAll([treatments, seed, round], (all, s, r) => {
      const steps = stepsOfRound(all, pairsOf(all), s, r);
      expect(steps.flatMap((step) => (step.kind === "treatment" ? [step.treatment] : [])).sort()).toEqual(
        [...all].sort(),
      );
      expect(steps.flatMap((step) => (step.kind === "interleaved" ? [step.other] : [])).sort()).toEqual(
        all.slice(1).sort(),
      );
      expect(steps[0]?.kind).toBe("reference-load");
      const referenceLoads = steps.flatMap((step, place) => (step.kind === "reference-load" ? [place] : []));
      expect(referenceLoads).toHaveLength(all.length < 2 ? 1 : 2);
      // Among the treatments, not at their end.
      if (all.length > 1) expect(referenceLoads[1]).toBeLessThan(steps.length - 1);
      expect(new Set(steps.map(stepKey)).size).toBe(steps.length);
    });
  });

  it("is the same for the same seed, so that a study can be resumed", () => {
    forAll([treatments, seed, round], (all, s, r) => {
      expect(stepsOfRound(all, pairsOf(all), s, r)).toEqual(stepsOfRound(all, pairsOf(all), s, r));
    });
  });

  it("orders treatments at random", () => {
    forAll([seed], { numRuns: 20 }, (s) => {
      const all = ["a", "b", "c", "d"];
      let ahead = 0;
      for (let r = 1; r <= 400; r++) {
        const order = stepsOfRound(all, pairsOf(all), s, r).flatMap((step) =>
          step.kind === "treatment" ? [step.treatment] : [],
        );
        if (order.indexOf("a") < order.indexOf("d")) ahead++;
      }
      expect(ahead).toBeGreaterThan(140);
      expect(ahead).toBeLessThan(260);
    });
  });
});

const ratio = (half: number, rounds: number): Ratio => ({
  ratio: 1,
  low: Math.exp(-half),
  high: Math.exp(half),
  rounds,
  verdict: "no-difference",
});
const unknown: Ratio = { ratio: 1, low: undefined, high: undefined, rounds: 1, verdict: "not-enough-data" };
const LIMITS = { precision: 0.05, budget: 600 };
const planned = (decision: NextDecision): number | undefined =>
  decision.kind === "go-on" ? decision.planned : undefined;

describe("deciding on another round", () => {
  it("stops when all ratios are precise, not before six rounds", () => {
    expect(decideNext({ rounds: 6, elapsed: 60, ratios: [ratio(0.01, 6), ratio(0.04, 6)] }, LIMITS)).toEqual({
      kind: "stop",
      reason: "precise",
    });
    expect(decideNext({ rounds: 5, elapsed: 50, ratios: [ratio(0.01, 5)] }, LIMITS)).toMatchObject({
      kind: "go-on",
      planned: 6,
      remaining: 10,
    });
    expect(decideNext({ rounds: 6, elapsed: 60, ratios: [ratio(0.01, 6), ratio(0.06, 6)] }, LIMITS).kind).toBe("go-on");
  });

  it("plans the rounds that the spread needs and the budget allows", () => {
    // Twice as wide as wanted takes four times as many.
    expect(planned(decideNext({ rounds: 6, elapsed: 60, ratios: [ratio(2 * Math.log1p(0.05), 6)] }, LIMITS))).toBe(24);
    expect(planned(decideNext({ rounds: 6, elapsed: 60, ratios: [ratio(20 * Math.log1p(0.05), 6)] }, LIMITS))).toBe(60);
    expect(planned(decideNext({ rounds: 1, elapsed: 10, ratios: [unknown] }, LIMITS))).toBe(MIN_ROUNDS);
  });

  it("always measures the first round, starts no round beyond the budget, and plans none", () => {
    forAll(
      [
        fc.integer({ min: 0, max: 50 }),
        fc.double({ min: 0.1, max: 5000, noNaN: true }),
        fc.double({ min: 0.001, max: 3, noNaN: true }),
      ],
      (rounds, elapsed, half) => {
        const decision = decideNext(
          { rounds, elapsed: rounds === 0 ? 0 : elapsed, ratios: [ratio(half, rounds)] },
          LIMITS,
        );
        if (rounds === 0) expect(decision).toEqual({ kind: "go-on", planned: MIN_ROUNDS, remaining: undefined });
        else if (elapsed + elapsed / rounds > LIMITS.budget) expect(decision.kind).toBe("stop");
        if (decision.kind === "go-on" && rounds > 0) {
          expect(decision.planned).toBeGreaterThan(rounds);
          expect(elapsed + (decision.remaining ?? NaN)).toBeLessThanOrEqual(LIMITS.budget * 1.0001);
        }
      },
    );
  });

  it("ends for any ratios", () => {
    forAll(
      [fc.infiniteStream(fc.double({ min: 0, max: 3, noNaN: true })), fc.double({ min: 1, max: 100, noNaN: true })],
      { numRuns: 50 },
      (halves, perRound) => {
        let rounds = 0;
        while (
          decideNext(
            { rounds, elapsed: rounds * perRound, ratios: [ratio(halves.next().value as number, rounds)] },
            LIMITS,
          ).kind === "go-on"
        )
          rounds++;
        expect(rounds).toBeGreaterThan(0);
        expect((rounds - 1) * perRound).toBeLessThanOrEqual(LIMITS.budget);
      },
    );
  });
});
