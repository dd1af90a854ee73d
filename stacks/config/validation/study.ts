/** Cross-field validation of the section `study`: values that treatments must not have together. Pure. */
import type { Treatment } from "../../../benchmarks/studies/factors";
import { unevenSettings } from "../../../benchmarks/workloads/workload";
import { nodeCount } from "../../../valkey/topology/placement";
import type { Label } from "../../../lib/schema/problems";
import type { StudySectionConfig } from "../schema/study";

/**
 * Sentences about problems, one for each problem. If several treatments have the same problem, the sentence names only
 * the first of these treatments.
 */
export function studyProblems(
  { growth }: StudySectionConfig,
  treatments: readonly Treatment[],
  label: Label,
): string[] {
  const path = label(["study"]);
  const problems: string[] = [];
  if (treatments.length < 2 && growth === undefined) {
    problems.push(
      `${path}: the study has only one treatment, so there is nothing to compare it with; vary a factor, or add a deployment`,
    );
  }
  problems.push(...unevenTreatments(treatments, label).slice(0, 1));
  const several = treatments.find(({ shape, mode }) => mode === "cluster" || nodeCount(shape) > 1);
  if (growth !== undefined && several !== undefined) {
    const remedy = "growth is measured on a primary without replicas";
    problems.push(`${label(["study", "growth"])}: ${several.label} has more than one node; ${remedy}`);
  }
  const slow = treatments.find(({ workload, runners }) => workload.rate !== undefined && workload.rate < runners);
  if (slow !== undefined) {
    const rate = `${slow.workload.rate ?? 0} requests per second`;
    problems.push(`${label(["study", "vary", "rate"])}: ${slow.runners} load generators cannot share ${rate}`);
  }
  if (new Set(treatments.map(({ id }) => id)).size < treatments.length) {
    problems.push(
      `${path}: two treatments have the same name, because a deployment has the name of a value in study.vary; rename the deployment`,
    );
  }
  return problems;
}

function unevenTreatments(treatments: readonly Treatment[], label: Label): string[] {
  return treatments.flatMap(({ label: name, mode, shape, workload }) => {
    if (mode !== "cluster") return [];
    return unevenSettings(workload.clients, workload.threads, shape.primaries).map(({ why, nearest }) => {
      const path = label(["benchmark", "clients"]);
      return `${path}, in ${name}: ${why}; nearest values: ${nearest.join(" or ")}`;
    });
  });
}
