/** Cross-field validation of the section `failures`: scenarios that do not suit their deployments. Pure. */
import type { Problem } from "../../../lib/errors";
import { problem } from "../../../lib/errors";
import { configuredShape } from "../../plan/benchmark-plans";
import { platformZones } from "../../plan/pod-settings";
import type { Label } from "../../../lib/schema/problems";
import type { ScenarioConfig } from "../schema/failures";
import type { ParsedSections, ValidationContext } from "./types";

/** Problems with scenarios that name unknown deployments or zones, or wait for more replicas than exist. */
export function scenarioProblems({ sections, label }: ValidationContext): Problem[] {
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
