/** S1: Valkey on EKS, cluster mode against replication mode. */
import type { Claim } from "../../results/study-schema";
import type { Treatment } from "../factors";
import { groupsVarying } from "./analysis";
import type { Conclusions, ClaimBasis } from "./claim";
import { claim, describeRatio, judgeSimilar, judgeAtLeast, machineLimitReason } from "./claim";

/** Test to what S1's own runs prove of the cluster's speed-up, whose rates are read in ticks of 250 ms, and what it says. */
const SPEED_UPS: readonly (readonly [test: string, text: string, limit: number])[] = [
  ["set", "SET is at least 2.5× as fast in a cluster of three primaries", 2.5],
  ["incr", "INCR is at least 2× as fast in a cluster of three primaries", 2],
];

export function topologyConclusions(basis: ClaimBasis): Conclusions {
  const { analysis } = basis;
  const replication = analysis.treatments.find(({ mode }) => mode === "replication");
  const cluster =
    analysis.treatments.find(({ mode, shape }) => mode === "cluster" && shape.primaries === 3) ??
    analysis.treatments.find(({ mode }) => mode === "cluster");
  if (replication === undefined || cluster === undefined)
    return {
      findings: [],
      claims: [claim("S1", "a cluster serves more than replication", "no-say", "the study has not both of them")],
    };
  return {
    findings: analysis.tests.map(
      ({ test, title }) =>
        `${title}: ${cluster.label} over ${replication.label} is ${describeRatio(analysis.ratio(replication, cluster, test, "throughput"))}`,
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
    return why === undefined
      ? judgeAtLeast("S1", text, basis.analysis.ratio(replication, cluster, test, "throughput"), limit)
      : claim("S1", text, "no-say", why);
  });
}

/** As fast: nobody who reads a table of two rates means less. */
const PARITY = 0.1;

/** The table's "parity rps": S1's own figures leave anything from 0.5× to 2× open. */
function parity(basis: ClaimBasis, replication: Treatment, cluster: Treatment): Claim {
  const text = "GET is as fast in both (at hits: S1 read keys that were mostly not there)";
  const why = machineLimitReason(basis, [replication, cluster], "get");
  if (why !== undefined) return claim("S1", text, "no-say", why);
  const ratio = basis.analysis.ratio(replication, cluster, "get", "throughput");
  return judgeSimilar("S1", text, ratio, PARITY);
}

function latency(basis: ClaimBasis, replication: Treatment, cluster: Treatment): Claim {
  const text = "GET's p50 is 1.9 times lower in a cluster";
  return claim(
    "S1",
    text,
    "no-say",
    `at full speed a closed loop's p50 is its clients times its pipeline over the throughput, so it repeats the throughput (p99 of ${cluster.label} over ${replication.label} is ${describeRatio(basis.analysis.ratio(replication, cluster, "get", "p99"))}); latency at an offered load takes the open-loop generator (npm start -- --load-generator open-loop --rate N)`,
  );
}

/** Wherever the study varies the pipeline, also on a machine that is too small for the rest: both treatments share it alike. */
function pipelining({ analysis }: ClaimBasis): Claim {
  const text = "pipelining matters more than anything else: -P 1 is many times slower than -P 16";
  const pairs = groupsVarying(analysis.treatments, "pipeline").flatMap((group) => {
    const [one, sixteen] = [1, 16].map((depth) => group.find(({ workload }) => workload.pipeline === depth));
    return one === undefined || sixteen === undefined ? [] : [{ one, sixteen }];
  });
  const [pair] = pairs;
  const [first] = analysis.tests;
  if (pair === undefined || first === undefined)
    return claim("S1", text, "no-say", "the study does not vary the pipeline (valkey:experiment.vary.pipeline)");
  return judgeAtLeast("S1", text, analysis.ratio(pair.one, pair.sixteen, first.test, "throughput"), 2);
}
