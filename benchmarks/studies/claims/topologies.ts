/** S1: Valkey on EKS, cluster mode against replication mode. */
import type { Claim } from "../../results/study-schema";
import type { Cell } from "../factors";
import { groupsBy } from "../comparisons";
import type { Conclusions, Ground } from "./claim";
import { claim, describeRatio, judgeAbout, judgeAtLeast, tooSmall } from "./claim";

/** Test to what S1's own runs prove of the cluster's speed-up, whose rates are read in ticks of 250 ms, and what it says. */
const SPEED_UPS: readonly (readonly [test: string, text: string, limit: number])[] = [
  ["set", "SET is at least 2.5× as fast in a cluster of three primaries", 2.5],
  ["incr", "INCR is at least 2× as fast in a cluster of three primaries", 2],
];

export function topologies(ground: Ground): Conclusions {
  const { findings } = ground;
  const replication = findings.cells.find(({ mode }) => mode === "replication");
  const cluster = findings.cells.find(({ mode, shape }) => mode === "cluster" && shape.primaries === 3) ?? findings.cells.find(({ mode }) => mode === "cluster");
  if (replication === undefined || cluster === undefined) return { findings: [], claims: [claim("S1", "a cluster serves more than replication", "no-say", "the study has not both of them")] };
  return { findings: findings.tests.map(({ test, title }) => `${title}: ${cluster.label} over ${replication.label} is ${describeRatio(findings.ratio(replication, cluster, test, "throughput"))}`), claims: [...speedUps(ground, replication, cluster), parity(ground, replication, cluster), latency(ground, replication, cluster), pipelining(ground)] };
}

function speedUps(ground: Ground, replication: Cell, cluster: Cell): Claim[] {
  return SPEED_UPS.map(([test, text, limit]) => {
    const why = tooSmall(ground, [replication, cluster], test);
    return why === undefined ? judgeAtLeast("S1", text, ground.findings.ratio(replication, cluster, test, "throughput"), limit) : claim("S1", text, "no-say", why);
  });
}

/** As fast: nobody who reads a table of two rates means less. */
const PARITY = 0.1;

/** The table's "parity rps": S1's own figures leave anything from 0.5× to 2× open. */
function parity(ground: Ground, replication: Cell, cluster: Cell): Claim {
  const text = "GET is as fast in both (at hits: S1 read keys that were mostly not there)";
  const why = tooSmall(ground, [replication, cluster], "get");
  if (why !== undefined) return claim("S1", text, "no-say", why);
  const ratio = ground.findings.ratio(replication, cluster, "get", "throughput");
  return judgeAbout("S1", text, ratio, PARITY);
}

function latency(ground: Ground, replication: Cell, cluster: Cell): Claim {
  const text = "GET's p50 is 1.9 times lower in a cluster";
  return claim("S1", text, "no-say", `at full speed a closed loop's p50 is its clients times its pipeline over the throughput, so it repeats the throughput (p99 of ${cluster.label} over ${replication.label} is ${describeRatio(ground.findings.ratio(replication, cluster, "get", "p99"))}); latency at an offered load takes the open-loop generator (npm start -- --driver open-loop --rate N)`);
}

/** Wherever the study varies the pipeline, also on a machine that is too small for the rest: both cells share it alike. */
function pipelining({ findings }: Ground): Claim {
  const text = "pipelining matters more than anything else: -P 1 is many times slower than -P 16";
  const pairs = groupsBy(findings.cells, "pipeline").flatMap((group) => {
    const [one, sixteen] = [1, 16].map((depth) => group.find(({ workload }) => workload.pipeline === depth));
    return one === undefined || sixteen === undefined ? [] : [{ one, sixteen }];
  });
  const [pair] = pairs;
  const [first] = findings.tests;
  if (pair === undefined || first === undefined) return claim("S1", text, "no-say", "the study does not vary the pipeline (valkey:experiment.vary.pipeline)");
  return judgeAtLeast("S1", text, findings.ratio(pair.one, pair.sixteen, first.test, "throughput"), 2);
}
