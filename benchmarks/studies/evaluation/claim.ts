/** Criteria for judging claims of published documents, and texts that all judgements use. Pure. */
import type { Ratio } from "../../../lib/statistics/ratio";
import { counted, formatCount, formatPercent } from "../../../lib/units";
import type { Claim, TableGrowth } from "../../results/study-schema";
import type { Treatment } from "../factors";
import type { Metric, StudyAnalysis } from "./analysis";

/** Titles of the published documents whose claims studies test. `docs/sources.md` describes these documents. */
export const DOCUMENTS = {
  valkeyOnEks: "Valkey on EKS",
  raspberryPi: "Valkey on a Raspberry Pi",
  dragonfly: "Dragonfly head-to-head",
  billionRequests: "One billion requests per second",
  multiShard: "Single-node multi-shard",
} as const;

/** The data on which claims are judged. */
export interface ClaimBasis {
  readonly analysis: StudyAnalysis;
  /** Number of CPUs that servers and load generators share. */
  readonly cores: number;
  /** Version that the servers of each treatment report, by the ID of the treatment. */
  readonly versions: ReadonlyMap<string, string>;
  /** Table growth in every round, by the ID of the treatment. */
  readonly growth: ReadonlyMap<string, readonly TableGrowth[]>;
  /** Bytes per value during the measurement of table growth; undefined if table growth was not measured. */
  readonly growthSize: number | undefined;
}

/** Results of a study in addition to its comparisons. */
export interface Conclusions {
  readonly findings: readonly string[];
  readonly claims: readonly Claim[];
}

/** A claim of a published document before its judgement. Each method returns a judgement with a reason. */
export class StatedClaim {
  constructor(
    private readonly document: string,
    private readonly text: string,
  ) {}

  supported(why: string): Claim {
    return this.#judged("supported", why);
  }

  contradicted(why: string): Claim {
    return this.#judged("contradicted", why);
  }

  inconclusive(why: string): Claim {
    return this.#judged("inconclusive", why);
  }

  /** Judges the claim "the ratio is at least `limit`". */
  atLeast(ratio: Ratio, limit: number): Claim {
    if (ratio.low === undefined || ratio.high === undefined) return this.inconclusive(tooFewRounds(ratio));
    const measured = `measured ${describeRatio(ratio)}`;
    if (ratio.low >= limit) return this.supported(measured);
    if (ratio.high < limit) return this.contradicted(measured);
    return this.inconclusive(`${measured}: the interval contains ${limit}`);
  }

  /**
   * Judges the claim "both are alike".
   * @param within greatest relative difference at which two values count as alike
   */
  similar(ratio: Ratio, within: number): Claim {
    if (ratio.low === undefined || ratio.high === undefined) return this.inconclusive(tooFewRounds(ratio));
    const [min, max] = [1 / (1 + within), 1 + within];
    const measured = `measured ${describeRatio(ratio)}`;
    const alike = `within ${formatPercent(within)} of each other`;
    if (ratio.low >= min && ratio.high <= max) return this.supported(`${measured}: ${alike}`);
    if (ratio.high < min || ratio.low > max) return this.contradicted(`${measured}: not ${alike}`);
    return this.inconclusive(`${measured}: the interval is too wide to tell whether both are ${alike}`);
  }

  #judged(finding: Claim["finding"], why: string): Claim {
    return { document: this.document, claim: this.text, finding, why };
  }
}

function tooFewRounds({ rounds }: Ratio): string {
  return `${counted(rounds, "round is", "rounds are")} too few`;
}

/** A ratio with its interval as text: `1.63 (1.56 … 1.71)`. */
export function describeRatio({ ratio, low, high }: Ratio): string {
  if (ratio === undefined) return "not measured";
  return low === undefined || high === undefined
    ? `${ratio.toFixed(2)} (too few rounds for an interval)`
    : `${ratio.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
}

/**
 * Number of cores that a machine needs so that no thread waits for a core: one core for each thread of the servers, and
 * one core for the load generators.
 */
export function coresNeeded(treatments: readonly Treatment[]): number {
  return 1 + Math.max(1, ...treatments.map(({ shape, settings }) => shape.primaries * (settings["io-threads"] ?? 1)));
}

/**
 * Reason why this machine cannot show a speed-up between the given treatments; undefined if the machine can show a
 * speed-up.
 */
export function machineLimitReason(
  { analysis, cores }: ClaimBasis,
  treatments: readonly Treatment[],
  test: string,
): string | undefined {
  const needed = coresNeeded(treatments);
  if (cores < needed)
    return (
      `load generator and servers share ${cores} cores, but the servers could use ${needed - 1} cores: ` +
      `a test of this claim needs ${needed} cores`
    );
  const limited = treatments.flatMap((treatment) => {
    const by = analysis.limitedBy(treatment, test);
    return by === undefined ? [] : [`the ${limitName(by)} limited ${treatment.label}`];
  });
  return limited.length === 0 ? undefined : limited.join("; ");
}

/** Name of the bottleneck of a measurement, for texts. */
export function limitName(by: "client" | "machine"): string {
  return by === "client" ? "load generator" : "machine";
}

/** Median of a treatment as text: `145,696/s`, or `not measured`. */
export function describeMedian(analysis: StudyAnalysis, treatment: Treatment, test: string, metric: Metric): string {
  const value = analysis.median(treatment, test, metric);
  if (value === undefined) return "not measured";
  return metric === "throughput" ? `${formatCount(value)}/s` : value.toPrecision(3);
}
