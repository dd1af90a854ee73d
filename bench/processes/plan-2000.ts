/**
 * Plans a cluster of 2,000 nodes, verifies synthetic facts of one, and prints time and memory as JSON. It is a process
 * of its own, so that it measures only its own memory.
 */
import { COMPARED_DIRECTIVES } from "../../valkey/settings/settings";
import { planCluster } from "../../valkey/topology/cluster-plan";
import { rotateOverZones } from "../../valkey/topology/placement";
import type { DeploymentFacts } from "../../valkey/verification/facts";
import { observed } from "../../valkey/observation";
import { verdictLine } from "../../valkey/verification/format";
import { judgeFacts } from "../../valkey/verification/verify";
import { clusterFacts } from "../../tests/support/valkey/facts";

const SHAPE = { primaries: 1000, replicasPerPrimary: 1 };
const ZONES = ["a", "b", "c"];

const bare = clusterFacts(SHAPE.primaries, SHAPE.replicasPerPrimary);
/** Each node has a map of its own, as real nodes answer. */
const facts: DeploymentFacts = {
  ...bare,
  nodes: bare.nodes.map((node) => ({
    ...node,
    settings: observed(new Map(COMPARED_DIRECTIVES.map((name) => [name, `the ${name}`]))),
  })),
};
const placed = rotateOverZones(
  facts.nodes.map(({ node }) => node.name),
  SHAPE,
  ZONES,
);

const began = performance.now();
const plan = planCluster(placed, SHAPE);
const planned = performance.now();
const verdict = judgeFacts(facts);
const judged = performance.now();
if (plan.shards.length !== SHAPE.primaries || plan.warnings.length > 0)
  throw new Error("the plan is not what it must be");
if (!verdict.pass) throw new Error(verdictLine(verdict));

const peak = process.resourceUsage().maxRSS * 1024;
process.stdout.write(
  JSON.stringify({ planSeconds: (planned - began) / 1000, verdictSeconds: (judged - planned) / 1000, peakBytes: peak }),
);
