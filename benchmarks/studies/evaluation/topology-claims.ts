/**
 * Claims of the published document "Valkey on EKS" (docs/sources.md). The claims compare cluster mode with replication
 * mode.
 */
import type { Claim } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "./analysis";
import type { ClaimBasis, Conclusions } from "./claim";
import { describeRatio, DOCUMENTS, machineLimitReason, StatedClaim } from "./claim";
import { COMMAND } from "../../../lib/system/package";

/**
 * For each test, a claim and the lowest speed-up of the cluster that the published document's own runs prove. The
 * document rounds durations to ticks of 250 ms. For this reason its runs prove less than its tables claim.
 */
const SPEED_UPS: readonly (readonly [test: string, text: string, limit: number])[] = [
  ["set", "SET is at least 2.5× as fast in a cluster of three primaries", 2.5],
  ["incr", "INCR is at least 2× as fast in a cluster of three primaries", 2],
];

const stated = (text: string): StatedClaim => new StatedClaim(DOCUMENTS.valkeyOnEks, text);

export function topologyConclusions(basis: ClaimBasis): Conclusions {
  const { analysis } = basis;
  const clusters = analysis.treatments.filter(({ mode }) => mode === "cluster");
  const replication = analysis.treatments.find(({ mode }) => mode === "replication");
  const cluster = clusters.find(({ shape }) => shape.primaries === 3) ?? clusters[0];
  if (replication === undefined || cluster === undefined) {
    const why = "the study does not measure both modes";
    return { findings: [], claims: [stated("a cluster serves more than replication").inconclusive(why)] };
  }
  const ratioOf = (test: string): string => describeRatio(analysis.ratio(replication, cluster, test, "throughput"));
  return {
    findings: analysis.tests.map(
      ({ test, title }) => `${title}: ${cluster.label} over ${replication.label} is ${ratioOf(test)}`,
    ),
    claims: [
      ...speedUps(basis, replication, cluster),
      parity(basis, replication, cluster),
      latency(basis, replication, cluster),
      pipelining(basis),
    ],
  };
}

function speedUps(basis: ClaimBasis, replication: Treatment, cluster: Treatment): Claim[] {
  return SPEED_UPS.map(([test, text, limit]) => {
    const why = machineLimitReason(basis, [replication, cluster], test);
    if (why !== undefined) return stated(text).inconclusive(why);
    return stated(text).atLeast(basis.analysis.ratio(replication, cluster, test, "throughput"), limit);
  });
}

/** Greatest relative difference with which two rates count as equally fast. */
const PARITY = 0.1;

/**
 * Judges the claim "parity rps" in the published document's table. The claim says that cluster mode and replication
 * mode have the same throughput. Because of rounding, the document's own figures allow any ratio from 0.5 to 2.
 */
function parity(basis: ClaimBasis, replication: Treatment, cluster: Treatment): Claim {
  const claim = stated(
    "GET is as fast in both modes (here every GET finds its key; in the published document most GETs did not)",
  );
  const why = machineLimitReason(basis, [replication, cluster], "get");
  if (why !== undefined) return claim.inconclusive(why);
  return claim.similar(basis.analysis.ratio(replication, cluster, "get", "throughput"), PARITY);
}

function latency({ analysis }: ClaimBasis, replication: Treatment, cluster: Treatment): Claim {
  const p99 = describeRatio(analysis.ratio(replication, cluster, "get", "p99"));
  return stated("GET's p50 is 1.9 times lower in a cluster").inconclusive(
    "the p50 of a closed loop at full speed is clients × pipeline / throughput, so it only repeats the throughput " +
      `(p99 of ${cluster.label} over ${replication.label} is ${p99}); for latency at an offered rate use ` +
      `${COMMAND} --load-generator open-loop --rate N`,
  );
}

/**
 * Judges the claim about pipelining. Even a small machine can test this claim, because a small machine slows both
 * treatments down equally.
 */
function pipelining({ analysis }: ClaimBasis): Claim {
  const claim = stated("pipelining matters more than anything else: -P 1 is many times slower than -P 16");
  const [pair] = groupsVarying(analysis.treatments, "pipeline").flatMap((group) => {
    const [one, sixteen] = [1, 16].map((depth) => group.find(({ workload }) => workload.pipeline === depth));
    return one === undefined || sixteen === undefined ? [] : [{ one, sixteen }];
  });
  const [first] = analysis.tests;
  if (pair === undefined || first === undefined)
    return claim.inconclusive("the study does not vary the pipeline (valkey:study.vary.pipeline)");
  return claim.atLeast(analysis.ratio(pair.one, pair.sixteen, first.test, "throughput"), 2);
}
