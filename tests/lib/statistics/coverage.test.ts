/** Simulates studies with few rounds and realistic noise, to check that intervals keep their confidence. */
import { describe, expect, it } from "vitest";
import { pairedInterval, studentInterval } from "../../../lib/statistics/paired";
import { type Point, fitPowerLaw } from "../../../lib/statistics/power-law";
import { randomFrom } from "../../../lib/statistics/random";
import { type PairedValues, isPrecise, pairedRatio } from "../../../lib/statistics/ratio";

const random = randomFrom(20261121);
const uniform = (): number => 1 - random();
const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * random());

/** Noise on the logarithm of a rate. */
const NOISE = {
  normal: () => 0.05 * normal(),
  "heavy-tailed (Laplace)": () => 0.04 * Math.log(uniform()) * (random() < 0.5 ? 1 : -1),
  "an outlier one time in ten": () => 0.03 * normal() - (random() < 0.1 ? 0.5 * random() : 0),
  "skewed: never faster, often slower": () => 0.05 * Math.log(uniform()),
} as const;
type Noise = () => number;
const KINDS = Object.entries(NOISE) as [string, Noise][];

/** A round: slow or fast as a whole, and each of its two measurements with noise of its own. */
function pair(noise: Noise, trueRatio: number, others: Noise = noise): PairedValues {
  const level = 1e5 * Math.exp(0.2 * normal());
  return { base: level * Math.exp(noise()), other: trueRatio * level * Math.exp(others()) };
}

/** In how many of a hundred simulated studies something holds. */
function percentage(studies: number, holds: () => boolean): number {
  let count = 0;
  for (let study = 0; study < studies; study++) if (holds()) count++;
  return (100 * count) / studies;
}

const logRatios = (rounds: number, noise: Noise): number[] =>
  Array.from({ length: rounds }, () => {
    const { base, other } = pair(noise, 1.1);
    return Math.log(other / base);
  });
const holdsIt = (interval: { readonly low: number; readonly high: number } | undefined, truth: number): boolean =>
  interval !== undefined && interval.low <= truth && interval.high >= truth;

/** Three standard errors of a percentage near 95 in 1,500 studies are 1.7. */
const STUDIES = 1500;
const SLACK = 1.7;

describe("an interval of 95 % around a ratio", () => {
  it.each(KINDS.flatMap(([kind, noise]) => [3, 5, 9].map((rounds) => ({ kind, noise, rounds }))))(
    "contains the true ratio with $rounds rounds and noise: $kind",
    ({ noise, rounds }) => {
      expect(
        percentage(STUDIES, () => holdsIt(pairedInterval(logRatios(rounds, noise), 0.95), Math.log(1.1))),
      ).toBeGreaterThan(95 - SLACK);
    },
  );

  it("does not keep its confidence by a bootstrap of five rounds, which is why none is used", () => {
    const bootstrap = (values: readonly number[]): { low: number; high: number } => {
      const means = Array.from(
        { length: 200 },
        () => values.reduce((sum) => sum + (values[Math.floor(random() * values.length)] ?? NaN), 0) / values.length,
      ).sort((a, b) => a - b);
      return { low: means[4] ?? NaN, high: means[195] ?? NaN };
    };
    expect(percentage(500, () => holdsIt(bootstrap(logRatios(5, NOISE.normal)), Math.log(1.1)))).toBeLessThan(88);
  });

  it("would be much wider with Student's t where some rounds are outliers", () => {
    let [ranks, student] = [0, 0];
    for (let study = 0; study < 500; study++) {
      const values = logRatios(15, NOISE["an outlier one time in ten"]);
      const [byRanks, byT] = [pairedInterval(values, 0.95), studentInterval(values, 0.95)];
      ranks += (byRanks?.high ?? NaN) - (byRanks?.low ?? NaN);
      student += byT.high - byT.low;
    }
    expect(ranks / student).toBeLessThan(0.85);
  });
});

/** The rule of a study: six rounds, then on until the interval is as narrow as wanted, or the budget is spent. */
function study(
  noise: Noise,
  trueRatio: number,
  precision: number,
  budget: number,
  others: Noise = noise,
): ReturnType<typeof pairedRatio> {
  const pairs = Array.from({ length: 6 }, () => pair(noise, trueRatio, others));
  let ratio = pairedRatio(pairs, precision);
  while (!isPrecise(ratio, precision) && pairs.length < budget) {
    pairs.push(pair(noise, trueRatio, others));
    ratio = pairedRatio(pairs, precision);
  }
  return ratio;
}

describe("a study that stops when its interval is precise", () => {
  it.each(KINDS.flatMap(([kind, noise]) => [0.05, 0.03].map((precision) => ({ kind, noise, precision }))))(
    "still contains the true ratio with noise: $kind, precision: $precision",
    ({ noise, precision }) => {
      expect(
        percentage(500, () => {
          const { low, high } = study(noise, 1.1, precision, 24);
          return low !== undefined && high !== undefined && low <= 1.1 && high >= 1.1;
        }),
      ).toBeGreaterThan(95 - 2.9);
    },
  );

  it("reports a difference where there is none in at most one of twenty studies", () => {
    const seen = percentage(500, () => ["greater", "less"].includes(study(NOISE.normal, 1, 0.05, 30).verdict));
    expect(seen).toBeLessThan(5 + 2.9);
  });

  it("reports a difference of 10 % nearly always", () => {
    expect(percentage(200, () => study(NOISE.normal, 0.9, 0.05, 30).verdict === "less")).toBeGreaterThan(95);
  });

  it("hardly ever reports no difference where it is twice the precision; it may where it equals the precision", () => {
    const none = (trueRatio: number): number =>
      percentage(300, () => study(NOISE.normal, trueRatio, 0.05, 40).verdict === "no-difference");
    expect(none(1.1)).toBeLessThan(2.5);
    expect(none(1.05)).toBeGreaterThan(10);
  });

  it("contains the true ratio less often where the noise of one side is skewed", () => {
    const skewed = (): number => 0.08 * Math.log(uniform());
    // The mean of its logarithms: what it is by the average round.
    const truth = 1.1 * Math.exp(-0.08);
    const held = percentage(500, () => {
      const { low, high } = study(NOISE.normal, 1.1, 0.05, 24, skewed);
      return low !== undefined && high !== undefined && low <= truth && high >= truth;
    });
    expect(held).toBeGreaterThan(85);
  });

  it("reports not enough data when its budget ends too early", () => {
    const verdicts = Array.from({ length: 200 }, () => study(() => 6 * NOISE.normal(), 1, 0.05, 6).verdict);
    expect(verdicts.filter((verdict) => verdict === "not-enough-data").length).toBeGreaterThan(160);
    expect(verdicts).not.toContain("no-difference");
  });
});

describe("an interval of 95 % around an exponent", () => {
  const SHARDS = [1, 3, 4, 8];
  const round = (noise: Noise): Point[] => {
    const level = 2e6 * Math.exp(0.2 * normal());
    return SHARDS.map((x) => ({ x, y: level * x ** 0.92 * Math.exp(noise()) }));
  };

  it.each(KINDS.flatMap(([kind, noise]) => [3, 6].map((rounds) => ({ kind, noise, rounds }))))(
    "contains the true exponent with $rounds rounds and noise: $kind",
    ({ noise, rounds }) => {
      expect(
        percentage(STUDIES, () =>
          holdsIt(
            fitPowerLaw(
              Array.from({ length: rounds }, () => round(noise)),
              0.95,
            )?.exponent,
            0.92,
          ),
        ),
      ).toBeGreaterThan(95 - SLACK);
    },
  );

  it("contains the true exponent with one round", () => {
    expect(
      percentage(STUDIES, () => holdsIt(fitPowerLaw([round(NOISE.normal)], 0.95)?.exponent, 0.92)),
    ).toBeGreaterThan(95 - SLACK);
  });
});
