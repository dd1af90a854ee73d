/** Cross-field validation of the section `failures`: scenarios that do not suit their deployments. Pure. */
import { configuredShape } from "../../plan/benchmark-plans";
import { platformZones } from "../../plan/pod-settings";
import type { Label } from "../../../lib/schema/problems";
import type { ScenarioConfig } from "../schema/failures";
import type { ParsedSections, ValidationContext } from "./types";

/** Problems with scenarios that name unknown deployments or zones, or wait for more replicas than exist. */
export function scenarioProblems({ sections, label }: ValidationContext): string[] {
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
): string[] {
  const names = deployments.map(([deployment]) => deployment);
  const problems: string[] = [];
  for (const [index, each] of (failure.deployments ?? []).entries()) {
    if (names.includes(each)) continue;
    const path = label(["failures", name, "deployments", index]);
    problems.push(`${path}: there is no deployment ${each}; expected one of ${names.join(", ")}`);
  }
  const zones = platform === undefined ? undefined : platformZones(platform);
  const zone = "zone" in failure ? failure.zone : undefined;
  if (zone !== undefined && zones !== undefined && !zones.includes(zone)) {
    problems.push(
      `${label(["failures", name, "zone"])}: there is no zone ${zone}; expected one of ${zones.join(", ")}`,
    );
  }
  return problems;
}

function replicaProblems(
  name: string,
  failure: ScenarioConfig,
  { deployments }: ParsedSections,
  label: Label,
): string[] {
  const wanted = Math.max(failure.waitFor, failure.settings["min-replicas-to-write"] ?? 0);
  return deployments.flatMap(([deployment, config]) => {
    const isMeant = failure.deployments?.includes(deployment) ?? true;
    const { replicasPerPrimary: there } = configuredShape(config);
    if (!isMeant || wanted <= there) return [];
    return [
      `${label(["failures", name])}: waits for ${wanted} replicas, but each primary of ${deployment} has ${there}`,
    ];
  });
}
