import { type Problem, problem } from "../../../lib/errors";
import type { Label } from "../../../lib/schema/problems";
import { loadedDeployment, configuredShape, fittedWorkload } from "../../plan/benchmark-plans";
import { deploymentProblems, memoryProblems } from "./deployments";
import { podPlatformProblems } from "./pod-platforms";
import type { MachineFacts, ParsedSections, ValidationContext } from "./types";
import { capacityProblems, workloadProblems, namedTestProblems } from "../../../benchmarks/workloads/suitability";
import { benchmarkWorkload } from "../../../benchmarks/workloads/configured-workloads";
import { keyFamilies } from "../../../benchmarks/workloads/named-tests";
import { dataBytes, adjustKeySpace } from "../../../benchmarks/workloads/workload";
import { formatBytes } from "../../../lib/units";
import { memoryPlan } from "../../../valkey/planning/memory-plan";
import { isPodPlatform, platformZones, memoryDemand } from "../../plan/pod-settings";
import { MEMORY_SHARE, serverResources } from "./server-resources";
import type { ScenarioConfig } from "../schema/failures";

export function crossFieldProblems(sections: ParsedSections, machine: MachineFacts, label: Label): Problem[] {
  const context = { sections, machine, label };
  const { platform, deployments, benchmark, workloads, capacity } = sections;
  return [
    ...deploymentProblems(context),
    ...memoryProblems(context),
    ...sharingProblems(context),
    ...keySpaceProblems(context),
    ...workloadProblems(workloads, deployments.map(loadedDeployment), label),
    ...(capacity === undefined ? [] : capacityProblems(capacity, workloads, label)),
    ...(platform === undefined ? [] : podPlatformProblems(platform, deployments, { benchmark, workloads }, label)),
    ...scenarioProblems(context),
  ];
}

function sharingProblems({ sections, label }: ValidationContext): Problem[] {
  const { deployments, benchmark } = sections;
  if (benchmark === undefined) return [];
  const workload = fittedWorkload({ benchmark, deployments: Object.fromEntries(deployments) });
  return namedTestProblems(workload, deployments.map(loadedDeployment), label);
}

function keySpaceProblems({ sections, machine, label }: ValidationContext): Problem[] {
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

function scenarioProblems({ sections, label }: ValidationContext): Problem[] {
  return sections.failures.flatMap(([name, failure]) => [
    ...unknownNames(name, failure, sections, label),
    ...replicaProblems(name, failure, sections, label),
  ]);
}

function unknownNames(
  name: string,
  failure: ScenarioConfig,
  { deployments, platform }: ParsedSections,
  label: Label,
): Problem[] {
  const names = deployments.map(([deployment]) => deployment);
  const problems: Problem[] = [];
  for (const [index, each] of (failure.deployments ?? []).entries()) {
    if (names.includes(each)) continue;
    const path = label(["failures", name, "deployments", index]);
    problems.push(
      problem("no-such-deployment", path, `there is no deployment ${each}; expected one of ${names.join(", ")}`),
    );
  }
  const zones = platform === undefined ? undefined : platformZones(platform);
  const zone = "zone" in failure ? failure.zone : undefined;
  if (zone !== undefined && zones !== undefined && !zones.includes(zone)) {
    const message = `there is no zone ${zone}; expected one of ${zones.join(", ")}`;
    problems.push(problem("no-such-zone", label(["failures", name, "zone"]), message));
  }
  return problems;
}

function replicaProblems(
  name: string,
  failure: ScenarioConfig,
  { deployments }: ParsedSections,
  label: Label,
): Problem[] {
  const wanted = Math.max(failure.waitFor, failure.settings["min-replicas-to-write"] ?? 0);
  return deployments.flatMap(([deployment, config]) => {
    const isMeant = failure.deployments?.includes(deployment) ?? true;
    const { replicasPerPrimary: there } = configuredShape(config);
    if (!isMeant || wanted <= there) return [];
    const message = `waits for ${wanted} replicas, but each primary of ${deployment} has ${there}`;
    return [problem("too-few-replicas", label(["failures", name]), message)];
  });
}
