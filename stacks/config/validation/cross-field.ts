/**
 * Cross-field validation: finds values that are allowed separately but not together. It runs before anything starts.
 * Pure.
 */
import type { Problem } from "../../../lib/errors";
import type { Label } from "../../../lib/schema/problems";
import { loadedDeployment } from "../../plan/benchmark-plans";
import { deploymentProblems, memoryProblems } from "./deployments";
import { keySpaceProblems, sharingProblems } from "./load";
import { podPlatformProblems } from "./pod-platforms";
import { scenarioProblems } from "./scenarios";
import type { MachineFacts, ParsedSections } from "./types";
import { capacityProblems, workloadProblems } from "../../../benchmarks/workloads/suitability";

/** All problems. */
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
