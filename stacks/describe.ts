/** What a stack comes to, in a few lines for a preview. Pure. */
import { nodeCount } from "../benchmarks/topology/placement";
import { fittedWorkload, shapeOf } from "./plans";
import type { StackConfig } from "./schema";

/** A line for each deployment, and one for the measurement. */
export function describeStack(config: StackConfig): string[] {
  const { platform, deployments, measures, benchmark } = config;
  const what = platform.type === "kubernetes" ? "pods" : "processes";
  const zones = platform.zones.length === 1 ? "zone" : "zones";
  const lines = Object.entries(deployments).map(([name, deployment]) => {
    const shape = shapeOf(deployment);
    const shards = deployment.mode === "cluster" ? `${shape.primaries} primaries with ${shape.replicasPerPrimary} replicas each` : `1 primary with ${shape.replicasPerPrimary} replicas`;
    return `${name}: ${deployment.mode} of ${shards}, ${nodeCount(shape)} ${what} over ${platform.zones.length} ${zones} (${platform.zones.join(", ")})`;
  });
  if (!measures) return [...lines, "nothing is measured: the stack has no valkey:benchmark"];
  const { tests } = fittedWorkload(config);
  const count = tests.length * Object.keys(deployments).length * benchmark.repeats;
  const by = platform.type === "kubernetes" ? `by Jobs of ${platform.clients.runners} ${platform.clients.runners === 1 ? "runner" : "runners"} each` : "by valkey-benchmark on this machine";
  return [...lines, `${count} measurements of ${tests.join(", ")} in ${benchmark.repeats} ${benchmark.repeats === 1 ? "round" : "rounds"}, ${by}`];
}
