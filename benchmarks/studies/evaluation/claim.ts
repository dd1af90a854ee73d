/** What claims are judged from, and the words they share. Pure. */
import type { Claim, TableGrowth } from "../../results/study-schema";
import type { Ratio } from "../../../lib/statistics/ratio";
import type { Treatment } from "../factors";
import type { Metric, StudyAnalysis } from "./analysis";

export interface ClaimBasis {
  readonly analysis: StudyAnalysis;
  /** CPUs that servers and load generators share. */
  readonly cores: number;
  /** Version that each treatment's servers gave of themselves, by treatment. */
  readonly versions: ReadonlyMap<string, string>;
  /** By treatment, every round's. */
  readonly growth: ReadonlyMap<string, readonly TableGrowth[]>;
  /** Bytes per value of what was put in meanwhile; undefined where nothing was. */
  readonly growthSize: number | undefined;
}

/** What a study has to say beside its comparisons. */
export interface Conclusions {
  readonly findings: readonly string[];
  readonly claims: readonly Claim[];
}

export function claim(document: string, text: string, finding: Claim["finding"], why: string): Claim {
  return { document, claim: text, finding, why };
}

/** `1.63 (1.56 … 1.71)` */
export function describeRatio({ ratio, low, high }: Ratio): string {
  if (ratio === undefined) return "not measured";
  return low === undefined || high === undefined
    ? `${ratio.toFixed(2)} (too few rounds for an interval)`
    : `${ratio.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
}

/** Of a ratio that a document says is at least so much. */
export function judgeAtLeast(document: string, text: string, ratio: Ratio, limit: number): Claim {
  if (ratio.low === undefined || ratio.high === undefined)
    return claim(document, text, "no-say", `${ratio.rounds} ${ratio.rounds === 1 ? "round is" : "rounds are"} too few`);
  if (ratio.low >= limit) return claim(document, text, "supported", `measured ${describeRatio(ratio)}`);
  if (ratio.high < limit) return claim(document, text, "contradicted", `measured ${describeRatio(ratio)}`);
  return claim(document, text, "no-say", `measured ${describeRatio(ratio)}, which may be either side of ${limit}`);
}

/** Of two that a document says are alike. @param within part by which they may differ and still be called so */
export function judgeSimilar(document: string, text: string, ratio: Ratio, within: number): Claim {
  if (ratio.low === undefined || ratio.high === undefined)
    return claim(document, text, "no-say", `${ratio.rounds} ${ratio.rounds === 1 ? "round is" : "rounds are"} too few`);
  const [least, most] = [1 / (1 + within), 1 + within];
  const alike = `${Number((100 * within).toFixed(1))} % of each other`;
  if (ratio.low >= least && ratio.high <= most)
    return claim(document, text, "supported", `measured ${describeRatio(ratio)}: within ${alike}`);
  if (ratio.high < least || ratio.low > most)
    return claim(document, text, "contradicted", `measured ${describeRatio(ratio)}: not within ${alike}`);
  return claim(document, text, "no-say", `measured ${describeRatio(ratio)}, which may or may not be within ${alike}`);
}

/** Cores it takes until servers and load generators stand in nobody's way: one for each primary, and one to send. */
export function coresNeeded(treatments: readonly Treatment[]): number {
  return 1 + Math.max(1, ...treatments.map(({ shape, settings }) => shape.primaries * (settings["io-threads"] ?? 1)));
}

/** Why a speed-up between treatments means nothing on this machine; undefined where it does. */
export function machineLimitReason(
  { analysis, cores }: ClaimBasis,
  treatments: readonly Treatment[],
  test: string,
): string | undefined {
  const needed = coresNeeded(treatments);
  if (cores < needed)
    return `${cores} cores are shared by servers that could use ${needed - 1}, and by the load generator: it takes ${needed} to show it`;
  const limited = treatments.flatMap((treatment) => {
    const by = analysis.limitedBy(treatment, test);
    return by === undefined
      ? []
      : [`${treatment.label} was limited by the ${by === "client" ? "load generator" : "machine"}`];
  });
  return limited.length === 0 ? undefined : limited.join("; ");
}

/** `145,696/s` of a treatment; `not measured`. */
export function describeMedian(findings: StudyAnalysis, treatment: Treatment, test: string, metric: Metric): string {
  const value = findings.median(treatment, test, metric);
  return value === undefined
    ? "not measured"
    : metric === "throughput"
      ? `${Math.round(value).toLocaleString("en-US")}/s`
      : value.toPrecision(3);
}
