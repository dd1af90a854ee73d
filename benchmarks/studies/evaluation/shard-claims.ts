/**
 * Claims of the published documents "Single-node multi-shard" and "One billion requests per second" (docs/sources.md)
 * about the growth of throughput with the number of shards.
 */
import { formatCount } from "../../../lib/units";
import type { Claim, StudyFit } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "./analysis";
import type { ClaimBasis, Conclusions } from "./claim";
import { describeMedian, describeRatio, DOCUMENTS, limitName, StatedClaim } from "./claim";

const statedByMultiShard = (text: string): StatedClaim => new StatedClaim(DOCUMENTS.multiShard, text);
const statedByBillion = (text: string): StatedClaim => new StatedClaim(DOCUMENTS.billionRequests, text);

type Exponent = NonNullable<StudyFit["exponent"]>;

/** Exponent of a power law, with its interval, as text: `0.92 (0.88 … 0.96)`. */
function describeExponent({ estimate, low, high }: Exponent): string {
  return `${estimate.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
}

/** Fit of a power law as text: `SET, throughput against shards, 1 CPU: exponent 0.92 (0.88 … 0.96) of 4 treatments`. */
export function describeFit({ title, what, exponent, treatments, excluded }: StudyFit): string {
  const names = excluded.map(({ treatment, why }) => `${treatment} (${why})`).join(", ");
  const without = excluded.length === 0 ? "" : `; excluded: ${names}`;
  if (exponent === null)
    return `${title}, ${what}: no exponent, because the servers were the limit in too few treatments${without}`;
  return `${title}, ${what}: exponent ${describeExponent(exponent)} of ${treatments.length} treatments${without}`;
}

export function densityConclusions(basis: ClaimBasis, fits: readonly StudyFit[]): Conclusions {
  return { findings: fits.map(describeFit), claims: [scaling(basis, fits), moreShards(basis), saturation(basis)] };
}

/** The exponent that the published document reports. */
const DOCUMENT_EXPONENT = 0.92;
/** Greatest width of a confidence interval with which a measured exponent can support the document's exponent. */
const MAX_WIDTH = 0.2;

function scaling({ cores }: ClaimBasis, fits: readonly StudyFit[]): Claim {
  const claim = statedByMultiShard(
    `throughput grows with the number of shards to the power of ${DOCUMENT_EXPONENT}, up to 8 shards with one pinned CPU each`,
  );
  const [exponent] = fits.flatMap((fit) => fit.exponent ?? []);
  if (exponent === undefined)
    return claim.inconclusive(
      `on ${cores} cores, too few treatments have exclusive CPUs for the shards and the load generator; the published document had 60 cores`,
    );
  const { low, high } = exponent;
  const measured = `the exponent here is ${describeExponent(exponent)}`;
  if (low > DOCUMENT_EXPONENT || high < DOCUMENT_EXPONENT) return claim.contradicted(measured);
  return high - low < MAX_WIDTH
    ? claim.supported(measured)
    : claim.inconclusive(`${measured}: the interval is too wide`);
}

/**
 * Judges the claim that more shards are faster than more CPUs for each shard. Both treatments use the same total number
 * of CPUs.
 */
function moreShards({ analysis, cores }: ClaimBasis): Claim {
  const claim = statedByMultiShard("more shards beat more cores per shard");
  const [first] = analysis.tests;
  const used = (treatment: Treatment): number => treatment.shape.primaries * (treatment.cpus ?? 0);
  const isPair = (many: Treatment, few: Treatment): boolean =>
    many.cpus !== undefined &&
    used(many) === used(few) &&
    many.shape.primaries > few.shape.primaries &&
    used(many) < cores;
  const [pair] = analysis.treatments.flatMap((many) =>
    analysis.treatments.flatMap((few) => (isPair(many, few) ? [{ many, few }] : [])),
  );
  if (pair === undefined || first === undefined)
    return claim.inconclusive(
      "a test of this claim needs two treatments that share the same number of CPUs among different numbers of shards, " +
        `and a CPU for the load generator; ${cores} cores are too few`,
    );
  const ratio = analysis.ratio(pair.few, pair.many, first.test, "throughput");
  if (ratio.verdict === "not-enough-data")
    return claim.inconclusive(`measured ${describeRatio(ratio)}: the interval is too wide`);
  const why = `${pair.many.label} over ${pair.few.label} is ${describeRatio(ratio)}`;
  return ratio.verdict === "greater" ? claim.supported(why) : claim.contradicted(why);
}

function saturation({ analysis }: ClaimBasis): Claim {
  const limited = analysis.treatments.flatMap((treatment) =>
    analysis.tests.flatMap(({ test, title }) => {
      const by = analysis.limitedBy(treatment, test);
      return by === undefined ? [] : [`${title} of ${treatment.label} (limited by the ${limitName(by)})`];
    }),
  );
  const found =
    limited.length === 0
      ? "the servers were the limit of every treatment"
      : `the servers were not the limit of ${limited.join(", ")}`;
  return statedByMultiShard(
    "from 16 shards on the load generator is saturated before the servers (marked by an asterisk)",
  ).inconclusive(`the study has fewer shards; judged by the CPU of servers and load generator, ${found}`);
}

export function billionConclusions(
  basis: ClaimBasis,
  throughput: readonly StudyFit[],
  costs: readonly StudyFit[],
): Conclusions {
  const { analysis } = basis;
  const medians = (treatment: Treatment, test: string): string => {
    const rate = describeMedian(analysis, treatment, test, "throughput");
    const cpu = describeMedian(analysis, treatment, test, "cpu-per-operation");
    return `${rate}, ${cpu} µs of the servers' CPU per operation`;
  };
  const table = analysis.tests.flatMap(({ test, title }) =>
    analysis.treatments.map((treatment) => `${title}, ${treatment.label}: ${medians(treatment, test)}`),
  );
  return {
    findings: [...table, ...throughput.map(describeFit), ...costs.map(describeFit)],
    claims: [linear(basis, throughput), overhead(basis), headline(basis)],
  };
}

/** Lowest exponent that counts as almost linear growth. */
const ALMOST_LINEAR = 0.9;

function linear({ cores }: ClaimBasis, fits: readonly StudyFit[]): Claim {
  const claim = statedByBillion("throughput grows almost linearly with the primaries");
  const [exponent] = fits.flatMap((fit) => fit.exponent ?? []);
  if (exponent === undefined)
    return claim.inconclusive(
      `shards that share ${cores} cores with each other and with the load generators cannot add throughput; ` +
        "the published document had 8 cores for each of 2,000 nodes",
    );
  const measured = `the exponent is ${describeExponent(exponent)}`;
  if (exponent.low >= ALMOST_LINEAR) return claim.supported(measured);
  if (exponent.high < ALMOST_LINEAR) return claim.contradicted(measured);
  return claim.inconclusive(`${measured}: the interval contains ${ALMOST_LINEAR}`);
}

/**
 * Judges the claim about the overhead of the cluster bus. The judgement compares measurements at the same offered rate,
 * far below saturation. At such a rate no server waits for a core, even on a small machine.
 */
function overhead({ analysis }: ClaimBasis): Claim {
  const claim = statedByBillion(
    "the cluster bus costs next to nothing: an operation takes as much CPU in a large cluster as in a small one",
  );
  const group = groupsVarying(analysis.treatments, "primaries").find(
    (treatments) => treatments.length > 1 && treatments[0]?.workload.rate !== undefined,
  );
  const [first] = analysis.tests;
  const clusters = (group ?? [])
    .filter(({ mode }) => mode === "cluster")
    .sort((a, b) => a.shape.primaries - b.shape.primaries);
  const [small, large] = [clusters[0], clusters.at(-1)];
  if (small === undefined || large === undefined || small === large || first === undefined)
    return claim.inconclusive(
      "the study does not measure clusters of different sizes at one offered rate (valkey:study.vary.rate)",
    );
  const ratio = analysis.ratio(small, large, first.test, "cpu-per-operation");
  const measured =
    `with ${large.shape.primaries} primaries an operation takes ${describeRatio(ratio)} times as much CPU ` +
    `as with ${small.shape.primaries}, including the CPU that the additional processes use while idle`;
  if (ratio.verdict === "not-enough-data") return claim.inconclusive(`${measured}: the interval is too wide`);
  return ratio.verdict === "greater" ? claim.contradicted(measured) : claim.supported(measured);
}

function headline({ analysis, cores }: ClaimBasis): Claim {
  const rates = analysis.treatments.flatMap((treatment) =>
    analysis.tests.flatMap(({ test }) => analysis.median(treatment, test, "throughput") ?? []),
  );
  return statedByBillion("1,000 primaries with a replica each serve a billion SETs per second").inconclusive(
    "a test of this claim needs 2,000 machines and 750 load generators; " +
      `the highest rate on these ${cores} cores is ${formatCount(Math.max(0, ...rates))}/s`,
  );
}
