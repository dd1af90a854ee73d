/**
 * Cross-field validation of the section `benchmark`: numbers of connections and keys that do not suit the deployments.
 * Pure.
 */
import type { Problem } from "../../../lib/errors";
import { problem } from "../../../lib/errors";
import { benchmarkWorkload } from "../../../benchmarks/workloads/configured-workloads";
import { keyFamilies } from "../../../benchmarks/workloads/named-tests";
import { namedTestProblems } from "../../../benchmarks/workloads/suitability";
import { dataBytes, adjustKeySpace } from "../../../benchmarks/workloads/workload";
import { formatBytes } from "../../../lib/units";
import { configuredShape, fittedWorkload, loadedDeployment } from "../../plan/benchmark-plans";
import { memoryPlan } from "../../../valkey/planning/memory-plan";
import { memoryDemand } from "../../plan/memory";
import { isPodPlatform } from "../../plan/pod-settings";
import { MEMORY_SHARE, serverResources } from "./server-resources";
import type { ValidationContext } from "./types";

/** Problems with numbers of connections and threads that the primaries of a cluster cannot share evenly. */
export function sharingProblems({ sections, label }: ValidationContext): Problem[] {
  const { deployments, benchmark } = sections;
  if (benchmark === undefined) return [];
  const workload = fittedWorkload({ benchmark, deployments: Object.fromEntries(deployments) });
  return namedTestProblems(workload, deployments.map(loadedDeployment), label);
}

/** Problems with keys and values that need more memory than a primary or this machine has. */
export function keySpaceProblems({ sections, machine, label }: ValidationContext): Problem[] {
  const { platform, deployments, benchmark } = sections;
  if (benchmark === undefined || benchmark.tests.length === 0 || deployments.length === 0) return [];
  const anyCluster = deployments.some(([, { mode }]) => mode === "cluster");
  const workload = { ...benchmarkWorkload(benchmark), keySpace: adjustKeySpace(benchmark.keySpace, anyCluster) };
  const families = keyFamilies(benchmark.tests).length;
  const path = `${label(["benchmark", "keySpace"])} × ${label(["benchmark", "dataSize"])}`;
  const keys = `${workload.keySpace} keys of ${workload.dataSize} B need about`;
  const problems = deployments.flatMap(([name, deployment]) => {
    const demand = platform === undefined ? undefined : memoryDemand(platform, deployment);
    const carried = demand === undefined ? 0 : memoryPlan(demand).maxmemory;
    const { maxmemory = carried } = deployment.settings;
    const resources = serverResources(platform, deployment, machine);
    const needed = dataBytes(workload, families, 1 / configuredShape(deployment).primaries);
    const need = `${keys} ${formatBytes(needed)} on each primary of ${name}`;
    if (maxmemory > 0 && needed > maxmemory)
      return [problem("data-exceeds-maxmemory", path, `${need}, whose maxmemory is ${formatBytes(maxmemory)}`)];
    const exceedsPod = resources.of === "pod" && needed > resources.memoryBytes * MEMORY_SHARE;
    const limit = `whose pods are limited to ${formatBytes(resources.memoryBytes)}`;
    return exceedsPod ? [problem("data-exceeds-pod", path, `${need}, ${limit}`)] : [];
  });
  if (platform !== undefined && isPodPlatform(platform)) return problems;
  const copies = deployments.reduce((sum, [, each]) => sum + 1 + configuredShape(each).replicasPerPrimary, 0);
  const total = dataBytes(workload, families, 1) * copies;
  if (total > machine.memoryBytes * MEMORY_SHARE) {
    const has = `this machine has ${formatBytes(machine.memoryBytes)}`;
    problems.push(problem("data-exceeds-machine", path, `${keys} ${formatBytes(total)} on all nodes together; ${has}`));
  }
  return problems;
}
