/** S2: more io-threads help until they are as many as the cores, and then harm. The rule that names the best. */
import type { Claim } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "../analysis";
import type { Conclusions, ClaimBasis } from "./claim";
import { claim, describeMedian, describeRatio, judgeAtLeast, machineLimitReason } from "./claim";

export function ioThreadConclusions(ground: ClaimBasis): Conclusions {
  const ladders = groupsVarying(ground.analysis.treatments, "io-threads").map((group) =>
    [...group].sort((a, b) => threadsOf(a) - threadsOf(b)),
  );
  const [ladder = []] = ladders;
  return {
    findings: ground.analysis.tests.flatMap(({ test, title }) =>
      ladders.flatMap((each) => describeLadder(ground, each, test, title)),
    ),
    claims: ground.analysis.tests.flatMap(({ test, title }) => [
      gain(ground, ladder, test, title),
      harm(ground, ladder, test, title),
    ]),
  };
}

function threadsOf({ settings }: Treatment): number {
  return settings["io-threads"] ?? 1;
}

/**
 * The best of a ladder: the fewest threads that no other number is shown to beat. Threads spin when they are idle, so where more do not
 * show to be faster, fewer are better.
 * @param ladder cells by rising number of threads
 */
export function bestTreatment(
  { analysis }: ClaimBasis,
  ladder: readonly Treatment[],
  test: string,
): Treatment | undefined {
  return ladder.find(
    (cell) =>
      analysis.series(cell, test, "throughput").size > 0 &&
      ladder.every((other) => other === cell || analysis.ratio(cell, other, test, "throughput").verdict !== "greater"),
  );
}

/** The first step up the ladder that is shown to lose, among those that begin below the cores and end at them or above. */
export function oversubscribedStep(
  { analysis, cores }: ClaimBasis,
  ladder: readonly Treatment[],
  test: string,
): { readonly from: Treatment; readonly to: Treatment } | undefined {
  const below = ladder.filter((cell) => threadsOf(cell) < cores).at(-1);
  const to =
    below === undefined
      ? undefined
      : ladder.find(
          (cell) => threadsOf(cell) >= cores && analysis.ratio(below, cell, test, "throughput").verdict === "less",
        );
  return below === undefined || to === undefined ? undefined : { from: below, to };
}

function describeLadder(ground: ClaimBasis, ladder: readonly Treatment[], test: string, title: string): string[] {
  const { analysis, cores } = ground;
  if (ladder.length < 2) return [];
  const rungs = ladder
    .map((cell) => `${threadsOf(cell)}: ${describeMedian(analysis, cell, test, "throughput")}`)
    .join(", ");
  const best = bestTreatment(ground, ladder, test);
  const step = oversubscribedStep(ground, ladder, test);
  const undecided =
    best === undefined
      ? []
      : ladder.filter(
          (cell) => cell !== best && analysis.ratio(best, cell, test, "throughput").verdict === "not-enough-data",
        );
  return [
    `${title} by io-threads: ${rungs}`,
    best === undefined
      ? `${title}: no number of threads is shown to be the best`
      : `${title}: the best is ${threadsOf(best)}, the fewest that no other number is shown to beat${undecided.length === 0 ? "" : `; not enough data on ${undecided.map((cell) => String(threadsOf(cell))).join(", ")}`}`,
    step === undefined
      ? `${title}: no step onto or beyond the ${cores} cores is shown to lose`
      : `${title}: the step from ${threadsOf(step.from)} to ${threadsOf(step.to)} threads on ${cores} cores is ${describeRatio(analysis.ratio(step.from, step.to, test, "throughput"))}: keep threads below the cores that the server has`,
  ];
}

function gain(ground: ClaimBasis, ladder: readonly Treatment[], test: string, title: string): Claim {
  const text = `${title}: with threads to spare, a second io-thread gains 35 %`;
  const [one, two] = [1, 2].map((threads) => ladder.find((cell) => threadsOf(cell) === threads));
  if (one === undefined || two === undefined)
    return claim("S2", text, "no-say", "the study does not measure 1 and 2 threads");
  const why = machineLimitReason(ground, [one, two], test);
  return why === undefined
    ? judgeAtLeast("S2", text, ground.analysis.ratio(one, two, test, "throughput"), 1.35)
    : claim("S2", text, "no-say", why);
}

/** Which a small machine shows best: nobody needs cores to be short of them. */
function harm(ground: ClaimBasis, ladder: readonly Treatment[], test: string, title: string): Claim {
  const text = `${title}: more io-threads than cores are slower than one thread`;
  const one = ladder.find((cell) => threadsOf(cell) === 1);
  const over = ladder.find((cell) => threadsOf(cell) > ground.cores);
  if (one === undefined || over === undefined)
    return claim("S2", text, "no-say", `the study does not measure 1 and more than ${ground.cores} threads`);
  const ratio = ground.analysis.ratio(one, over, test, "throughput");
  if (ratio.verdict === "not-enough-data")
    return claim("S2", text, "no-say", `measured ${describeRatio(ratio)}, not exact enough`);
  return claim(
    "S2",
    text,
    ratio.verdict === "less" ? "supported" : "contradicted",
    `${threadsOf(over)} threads on ${ground.cores} cores run at ${describeRatio(ratio)} of the throughput of one (S2: 5 on 4 cores at 0.81)`,
  );
}
