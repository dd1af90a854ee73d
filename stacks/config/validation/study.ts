/** Cross-field validation of the section `study`: values that treatments must not have together. Pure. */
import type { Problem } from "../../../lib/errors";
import { problem } from "../../../lib/errors";
import type { Treatment } from "../../../benchmarks/studies/factors";
import { unevenSettings } from "../../../benchmarks/workloads/workload";
import { nodeCount } from "../../../valkey/topology/placement";
import type { Label } from "../../../lib/schema/problems";
import type { StudySectionConfig } from "../schema/study";

/** Problems of treatments. If several treatments have the same problem, only the first of them is named. */
export function studyProblems(
  { growth }: StudySectionConfig,
  treatments: readonly Treatment[],
  label: Label,
): Problem[] {
  const path = label(["study"]);
  const problems: Problem[] = [];
  if (treatments.length < 2 && growth === undefined) {
    problems.push(
      problem(
        "one-treatment",
        path,
        "the study has only one treatment, so there is nothing to compare it with; vary a factor, or add a deployment",
      ),
    );
  }
  problems.push(...unevenTreatments(treatments, label).slice(0, 1));
  const several = treatments.find(({ shape, mode }) => mode === "cluster" || nodeCount(shape) > 1);
  if (growth !== undefined && several !== undefined) {
    const remedy = "growth is measured on a primary without replicas";
    const message = `${several.label} has more than one node; ${remedy}`;
    problems.push(problem("growth-of-several-nodes", label(["study", "growth"]), message));
  }
  const slow = treatments.find(({ workload, runners }) => workload.rate !== undefined && workload.rate < runners);
  if (slow !== undefined) {
    const rate = `${slow.workload.rate ?? 0} requests per second`;
    const message = `${slow.runners} load generators cannot share ${rate}`;
    problems.push(problem("rate-too-low", label(["study", "vary", "rate"]), message));
  }
  if (new Set(treatments.map(({ id }) => id)).size < treatments.length) {
    problems.push(
      problem(
        "same-treatment",
        path,
        "two treatments have the same name, because a deployment has the name of a value in study.vary; rename the deployment",
      ),
    );
  }
  return problems;
}

function unevenTreatments(treatments: readonly Treatment[], label: Label): Problem[] {
  return treatments.flatMap(({ label: name, mode, shape, workload }) => {
    if (mode !== "cluster") return [];
    return unevenSettings(workload.clients, workload.threads, shape.primaries).map(({ why, nearest }) => {
      const message = `, in ${name}: ${why}; nearest values: ${nearest.join(" or ")}`;
      return problem("uneven-load", label(["benchmark", "clients"]), message);
    });
  });
}
