/** S2: more io-threads help until they are as many as the cores, and then harm. The rule that names the best. */
import type { Claim } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "./analysis";
import type { Conclusions, ClaimBasis } from "./claim";
import { claim, describeMedian, describeRatio, judgeAtLeast, machineLimitReason } from "./claim";

export function ioThreadConclusions(basis: ClaimBasis): Conclusions {
  const ladders = groupsVarying(basis.analysis.treatments, "io-threads").map((group) =>
    [...group].sort((a, b) => threadsOf(a) - threadsOf(b)),
  );
  const [ladder = []] = ladders;
  return {
    findings: basis.analysis.tests.flatMap(({ test, title }) =>
      ladders.flatMap((each) => describeLadder(basis, each, test, title)),
    ),
    claims: basis.analysis.tests.flatMap(({ test, title }) => [
      gain(basis, ladder, test, title),
      harm(basis, ladder, test, title),
    ]),
  };
}

function threadsOf({ settings }: Treatment): number {
  return settings["io-threads"] ?? 1;
}

/**
 * The best of a ladder: the fewest threads that no other number is shown to beat. Threads spin when they are idle, so where more do not
 * show to be faster, fewer are better.
 * @param ladder treatments by rising number of threads
 */
export function bestTreatment(
  { analysis }: ClaimBasis,
  ladder: readonly Treatment[],
  test: string,
): Treatment | undefined {
  return ladder.find(
    (treatment) =>
      analysis.series(treatment, test, "throughput").size > 0 &&
      ladder.every(
        (other) => other === treatment || analysis.ratio(treatment, other, test, "throughput").verdict !== "greater",
      ),
  );
}

/** The first step up the ladder that is shown to lose, among those that begin below the cores and end at them or above. */
export function oversubscribedStep(
  { analysis, cores }: ClaimBasis,
  ladder: readonly Treatment[],
  test: string,
): { readonly from: Treatment; readonly to: Treatment } | undefined {
  const below = ladder.filter((treatment) => threadsOf(treatment) < cores).at(-1);
  const to =
    below === undefined
      ? undefined
      : ladder.find(
          (treatment) =>
            threadsOf(treatment) >= cores && analysis.ratio(below, treatment, test, "throughput").verdict === "less",
        );
  return below === undefined || to === undefined ? undefined : { from: below, to };
}

function describeLadder(basis: ClaimBasis, ladder: readonly Treatment[], test: string, title: string): string[] {
  const { analysis, cores } = basis;
  if (ladder.length < 2) return [];
  const rungs = ladder
    .map((treatment) => `${threadsOf(treatment)}: ${describeMedian(analysis, treatment, test, "throughput")}`)
    .join(", ");
  const best = bestTreatment(basis, ladder, test);
  const step = oversubscribedStep(basis, ladder, test);
  const undecided =
    best === undefined
      ? []
      : ladder.filter(
          (treatment) =>
            treatment !== best && analysis.ratio(best, treatment, test, "throughput").verdict === "not-enough-data",
        );
  return [
    `${title} by io-threads: ${rungs}`,
    best === undefined
      ? `${title}: no number of threads is shown to be the best`
      : `${title}: the best is ${threadsOf(best)}, the fewest that no other number is shown to beat${undecided.length === 0 ? "" : `; not enough data on ${undecided.map((treatment) => String(threadsOf(treatment))).join(", ")}`}`,
    step === undefined
      ? `${title}: no step onto or beyond the ${cores} cores is shown to lose`
      : `${title}: the step from ${threadsOf(step.from)} to ${threadsOf(step.to)} threads on ${cores} cores is ${describeRatio(analysis.ratio(step.from, step.to, test, "throughput"))}: keep threads below the cores that the server has`,
  ];
}

function gain(basis: ClaimBasis, ladder: readonly Treatment[], test: string, title: string): Claim {
  const text = `${title}: with threads to spare, a second io-thread gains 35 %`;
  const [one, two] = [1, 2].map((threads) => ladder.find((treatment) => threadsOf(treatment) === threads));
  if (one === undefined || two === undefined)
    return claim("S2", text, "no-say", "the study does not measure 1 and 2 threads");
  const why = machineLimitReason(basis, [one, two], test);
  return why === undefined
    ? judgeAtLeast("S2", text, basis.analysis.ratio(one, two, test, "throughput"), 1.35)
    : claim("S2", text, "no-say", why);
}

/** Which a small machine shows best: nobody needs cores to be short of them. */
function harm(basis: ClaimBasis, ladder: readonly Treatment[], test: string, title: string): Claim {
  const text = `${title}: more io-threads than cores are slower than one thread`;
  const one = ladder.find((treatment) => threadsOf(treatment) === 1);
  const over = ladder.find((treatment) => threadsOf(treatment) > basis.cores);
  if (one === undefined || over === undefined)
    return claim("S2", text, "no-say", `the study does not measure 1 and more than ${basis.cores} threads`);
  const ratio = basis.analysis.ratio(one, over, test, "throughput");
  if (ratio.verdict === "not-enough-data")
    return claim("S2", text, "no-say", `measured ${describeRatio(ratio)}, not exact enough`);
  return claim(
    "S2",
    text,
    ratio.verdict === "less" ? "supported" : "contradicted",
    `${threadsOf(over)} threads on ${basis.cores} cores run at ${describeRatio(ratio)} of the throughput of one (S2: 5 on 4 cores at 0.81)`,
  );
}
