/** S4 and S5: how throughput grows with shards, and what an operation costs in a larger cluster. */
import type { Claim, StudyFit } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "./analysis";
import type { Conclusions, ClaimBasis } from "./claim";
import { claim, describeMedian, describeRatio } from "./claim";

/** `throughput against shards, 1 CPU: exponent 0.92 (0.88 … 0.96)` */
export function describeFit({ title, what, exponent, treatments, excluded }: StudyFit): string {
  const without =
    excluded.length === 0
      ? ""
      : `; left out: ${excluded.map(({ treatment, why }) => `${treatment} (${why})`).join(", ")}`;
  if (exponent === null)
    return `${title}, ${what}: no exponent, for too few treatments were limited by their servers${without}`;
  return `${title}, ${what}: exponent ${exponent.estimate.toFixed(2)} (${exponent.low.toFixed(2)} … ${exponent.high.toFixed(2)}) of ${treatments.length} treatments${without}`;
}

export function densityConclusions(basis: ClaimBasis, fits: readonly StudyFit[]): Conclusions {
  return { findings: fits.map(describeFit), claims: [scaling(basis, fits), moreShards(basis), saturation(basis)] };
}

function scaling({ cores }: ClaimBasis, fits: readonly StudyFit[]): Claim {
  const text = "throughput grows with the 0.92th power of the shards, up to 8 shards of one pinned CPU each";
  const [exponent] = fits.flatMap((fit) => fit.exponent ?? []);
  if (exponent === undefined)
    return claim(
      "S5",
      text,
      "no-say",
      `no treatment on ${cores} cores leaves shards and load generator CPUs of their own, or too few do; S5 had 60`,
    );
  const { low, high, estimate } = exponent;
  const found = `the exponent here is ${estimate.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
  if (low <= 0.92 && high >= 0.92)
    return claim(
      "S5",
      text,
      high - low < 0.2 ? "supported" : "no-say",
      `${found}${high - low < 0.2 ? "" : ", which leaves too much open"}`,
    );
  return claim("S5", text, "contradicted", found);
}

/** As many CPUs as more shards, or as more CPUs for each. */
function moreShards({ analysis, cores }: ClaimBasis): Claim {
  const text = "more shards beat more cores per shard";
  const [first] = analysis.tests;
  const used = (treatment: Treatment): number => treatment.shape.primaries * (treatment.cpus ?? 0);
  const candidates = analysis.treatments.flatMap((many) =>
    analysis.treatments.flatMap((few) =>
      many.cpus !== undefined &&
      used(many) === used(few) &&
      many.shape.primaries > few.shape.primaries &&
      used(many) < cores
        ? [{ many, few }]
        : [],
    ),
  );
  const [pair] = candidates;
  if (pair === undefined || first === undefined)
    return claim(
      "S5",
      text,
      "no-say",
      `takes treatments with the same number of CPUs in shards of one and of several, and a CPU left for the load generator; ${cores} cores have room for none`,
    );
  const ratio = analysis.ratio(pair.few, pair.many, first.test, "throughput");
  if (ratio.verdict === "not-enough-data")
    return claim("S5", text, "no-say", `measured ${describeRatio(ratio)}, not exact enough`);
  return claim(
    "S5",
    text,
    ratio.verdict === "greater" ? "supported" : "contradicted",
    `${pair.many.label} over ${pair.few.label} is ${describeRatio(ratio)}`,
  );
}

function saturation({ analysis }: ClaimBasis): Claim {
  const text = "from 16 shards on the load generator is saturated before the servers, which the asterisk marks";
  const bound = analysis.treatments.flatMap((treatment) =>
    analysis.tests.flatMap(({ test, title }) => {
      const by = analysis.limitedBy(treatment, test);
      return by === undefined
        ? []
        : [`${title} of ${treatment.label} by the ${by === "client" ? "load generator" : "machine"}`];
    }),
  );
  return claim(
    "S5",
    text,
    "no-say",
    `at S5's sizes; here the same is computed for each treatment from both sides' CPU: ${bound.length === 0 ? "none was limited by anything but its servers" : `limited: ${bound.join(", ")}`}`,
  );
}

export function billionConclusions(
  basis: ClaimBasis,
  throughput: readonly StudyFit[],
  costs: readonly StudyFit[],
): Conclusions {
  const { analysis } = basis;
  const table = analysis.tests.flatMap(({ test, title }) =>
    analysis.treatments.map(
      (treatment) =>
        `${title}, ${treatment.label}: ${describeMedian(analysis, treatment, test, "throughput")}, ${describeMedian(analysis, treatment, test, "cpu-per-operation")} µs of the servers' CPU per operation`,
    ),
  );
  return {
    findings: [...table, ...throughput.map(describeFit), ...costs.map(describeFit)],
    claims: [linear(basis, throughput), overhead(basis), headline(basis)],
  };
}

function linear({ cores }: ClaimBasis, fits: readonly StudyFit[]): Claim {
  const text = "throughput grows almost linearly with the primaries";
  const [exponent] = fits.flatMap((fit) => fit.exponent ?? []);
  if (exponent === undefined)
    return claim(
      "S4",
      text,
      "no-say",
      `shards that share ${cores} cores with each other and with the load generators cannot add throughput; S4 had 8 cores for each of 2,000 nodes`,
    );
  const { low, high, estimate } = exponent;
  const found = `the exponent is ${estimate.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
  return low >= 0.9
    ? claim("S4", text, "supported", found)
    : high < 0.9
      ? claim("S4", text, "contradicted", found)
      : claim("S4", text, "no-say", `${found}, which leaves it open`);
}

/** At one offered rate, well below what saturates: a small machine can show it, for nobody waits for a core. */
function overhead({ analysis }: ClaimBasis): Claim {
  const text = "the cluster bus costs next to nothing: an operation takes as much CPU in a larger cluster";
  const group = groupsVarying(analysis.treatments, "primaries").find(
    (treatments) => treatments.length > 1 && treatments[0]?.workload.rate !== undefined,
  );
  const [first] = analysis.tests;
  const clusters = (group ?? [])
    .filter(({ mode }) => mode === "cluster")
    .sort((a, b) => a.shape.primaries - b.shape.primaries);
  const [small, large] = [clusters[0], clusters.at(-1)];
  if (small === undefined || large === undefined || small === large || first === undefined)
    return claim(
      "S4",
      text,
      "no-say",
      "the study does not measure clusters of different sizes at one offered rate (valkey:experiment.vary.rate)",
    );
  const ratio = analysis.ratio(small, large, first.test, "cpu-per-operation");
  const found = `an operation takes ${describeRatio(ratio)} times the CPU with ${large.shape.primaries} primaries as with ${small.shape.primaries}, idle time of more processes included`;
  if (ratio.verdict === "not-enough-data") return claim("S4", text, "no-say", `${found}: not exact enough`);
  return claim("S4", text, ratio.verdict === "greater" ? "contradicted" : "supported", found);
}

function headline({ analysis, cores }: ClaimBasis): Claim {
  const rates = analysis.treatments.flatMap((treatment) =>
    analysis.tests.flatMap(({ test }) => analysis.median(treatment, test, "throughput") ?? []),
  );
  return claim(
    "S4",
    "1,000 primaries with a replica each serve a billion SETs per second",
    "no-say",
    `takes 2,000 machines and 750 load generators; the most on these ${cores} cores is ${Math.round(Math.max(0, ...rates)).toLocaleString("en-US")}/s. What ran with several load generators is merged by counts`,
  );
}
