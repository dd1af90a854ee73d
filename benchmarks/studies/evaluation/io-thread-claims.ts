/**
 * Claims of the published document "Valkey on a Raspberry Pi" (docs/sources.md) about io-threads, and the rule that
 * chooses the best number of io-threads.
 */
import type { Claim } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "./analysis";
import type { ClaimBasis, Conclusions } from "./claim";
import { describeMedian, describeRatio, DOCUMENTS, machineLimitReason, StatedClaim } from "./claim";

const stated = (text: string): StatedClaim => new StatedClaim(DOCUMENTS.raspberryPi, text);

export function ioThreadConclusions(basis: ClaimBasis): Conclusions {
  const { tests, treatments } = basis.analysis;
  const byThreads = groupsVarying(treatments, "io-threads").map((group) =>
    [...group].sort((a, b) => threadsOf(a) - threadsOf(b)),
  );
  const [first = []] = byThreads;
  return {
    findings: tests.flatMap(({ test, title }) =>
      byThreads.flatMap((group) => describeGroup(basis, group, test, title)),
    ),
    claims: tests.flatMap(({ test, title }) => [gain(basis, first, test, title), harm(basis, first, test, title)]),
  };
}

function threadsOf({ settings }: Treatment): number {
  return settings["io-threads"] ?? 1;
}

/**
 * The fastest treatment. If several treatments are equally fast, the function returns the one with the fewest
 * io-threads. Idle io-threads spin, so more threads are worse unless they make the server faster.
 * @param group treatments that differ only in io-threads, in ascending order of threads
 */
export function bestTreatment(
  { analysis }: ClaimBasis,
  group: readonly Treatment[],
  test: string,
): Treatment | undefined {
  return group.find(
    (treatment) =>
      analysis.series(treatment, test, "throughput").size > 0 &&
      group.every(
        (other) => other === treatment || analysis.ratio(treatment, other, test, "throughput").verdict !== "greater",
      ),
  );
}

/**
 * The two treatments between which throughput falls because there are too many io-threads. `from` has the most
 * io-threads below the number of cores. `to` is the first treatment that is slower than `from` and has at least as many
 * io-threads as cores.
 * @returns undefined if there is no such treatment
 */
export function oversubscribedStep(
  { analysis, cores }: ClaimBasis,
  group: readonly Treatment[],
  test: string,
): { readonly from: Treatment; readonly to: Treatment } | undefined {
  const from = group.filter((treatment) => threadsOf(treatment) < cores).at(-1);
  if (from === undefined) return undefined;
  const isLoss = (to: Treatment): boolean => analysis.ratio(from, to, test, "throughput").verdict === "less";
  const to = group.find((treatment) => threadsOf(treatment) >= cores && isLoss(treatment));
  return to === undefined ? undefined : { from, to };
}

function describeGroup(basis: ClaimBasis, group: readonly Treatment[], test: string, title: string): string[] {
  if (group.length < 2) return [];
  const medians = group.map(
    (treatment) => `${threadsOf(treatment)}: ${describeMedian(basis.analysis, treatment, test, "throughput")}`,
  );
  return [
    `${title} by io-threads: ${medians.join(", ")}`,
    `${title}: ${describeBest(basis, group, test)}`,
    `${title}: ${describeStep(basis, group, test)}`,
  ];
}

function describeBest(basis: ClaimBasis, group: readonly Treatment[], test: string): string {
  const best = bestTreatment(basis, group, test);
  if (best === undefined) return "the measurements do not show which number of io-threads is the best";
  const undecided = group.filter(
    (treatment) =>
      treatment !== best && basis.analysis.ratio(best, treatment, test, "throughput").verdict === "not-enough-data",
  );
  const rest = undecided.length === 0 ? "" : `; not enough data on ${undecided.map(threadsOf).join(", ")}`;
  return `the best number of io-threads is ${threadsOf(best)}: the lowest number for which the measurements show no better one${rest}`;
}

function describeStep(basis: ClaimBasis, group: readonly Treatment[], test: string): string {
  const { analysis, cores } = basis;
  const step = oversubscribedStep(basis, group, test);
  if (step === undefined)
    return `the measurements do not show that ${cores} or more threads on ${cores} cores lower throughput`;
  const ratio = describeRatio(analysis.ratio(step.from, step.to, test, "throughput"));
  return (
    `the step from ${threadsOf(step.from)} to ${threadsOf(step.to)} threads on ${cores} cores multiplies throughput by ${ratio}: ` +
    "keep io-threads below the number of cores of the server"
  );
}

function gain(basis: ClaimBasis, group: readonly Treatment[], test: string, title: string): Claim {
  const claim = stated(`${title}: with threads to spare, a second io-thread gains 35 %`);
  const [one, two] = [1, 2].map((threads) => group.find((treatment) => threadsOf(treatment) === threads));
  if (one === undefined || two === undefined)
    return claim.inconclusive("the study does not measure both 1 and 2 io-threads");
  const why = machineLimitReason(basis, [one, two], test);
  if (why !== undefined) return claim.inconclusive(why);
  return claim.atLeast(basis.analysis.ratio(one, two, test, "throughput"), 1.35);
}

/**
 * Judges the claim that too many io-threads do harm. A small machine shows this best, because even few threads use all
 * of its cores.
 */
function harm({ analysis, cores }: ClaimBasis, group: readonly Treatment[], test: string, title: string): Claim {
  const claim = stated(`${title}: more io-threads than cores are slower than one thread`);
  const one = group.find((treatment) => threadsOf(treatment) === 1);
  const over = group.find((treatment) => threadsOf(treatment) > cores);
  if (one === undefined || over === undefined)
    return claim.inconclusive(`the study does not measure both 1 io-thread and more than ${cores} io-threads`);
  const ratio = analysis.ratio(one, over, test, "throughput");
  if (ratio.verdict === "not-enough-data")
    return claim.inconclusive(`measured ${describeRatio(ratio)}: the interval is too wide`);
  const why =
    `${threadsOf(over)} threads on ${cores} cores have ${describeRatio(ratio)} of the throughput of one thread ` +
    "(0.81 in the published document, with 5 threads on 4 cores)";
  return ratio.verdict === "less" ? claim.supported(why) : claim.contradicted(why);
}
