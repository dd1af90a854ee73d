/** What a study's cells cannot all have, found before anything starts. Pure. */
import type { Treatment } from "../../../benchmarks/studies/factors";
import { nodeCount } from "../../../valkey/topology/placement";
import { unevenSettings } from "../../../benchmarks/workloads/workload";
import type { ExperimentConfig } from "../schema/study";

type Label = (path: readonly PropertyKey[]) => string;

/** One sentence each; of cells with the same problem the first. */
export function studyProblems(experiment: ExperimentConfig, cells: readonly Treatment[], label: Label): string[] {
  const path = label(["experiment"]);
  const problems: string[] = [];
  if (cells.length < 2 && experiment.growth === undefined)
    problems.push(
      `${path}: there is one cell only, and nothing to compare it with; vary something, or name a second deployment`,
    );
  const uneven = cells.flatMap(({ label: name, mode, shape, workload }) =>
    mode === "cluster"
      ? unevenSettings(workload.clients, workload.threads, shape.primaries).map(
          ({ why, nearest }) =>
            `${label(["benchmark", "clients"])}, in ${name}: ${why}; the nearest that can: ${nearest.join(" or ")}`,
        )
      : [],
  );
  problems.push(...uneven.slice(0, 1));
  const grown = cells.find(({ shape, mode }) => mode === "cluster" || nodeCount(shape) > 1);
  if (experiment.growth !== undefined && grown !== undefined)
    problems.push(
      `${label(["experiment", "growth"])}: ${grown.label} has more than one node; growth is watched on a primary without replicas`,
    );
  const tooFew = cells.find(({ workload, runners }) => workload.rate !== undefined && workload.rate < runners);
  if (tooFew !== undefined)
    problems.push(
      `${label(["experiment", "vary", "rate"])}: ${tooFew.workload.rate ?? 0} requests per second cannot be shared by ${tooFew.runners} load generators`,
    );
  if (new Set(cells.map(({ id }) => id)).size < cells.length)
    problems.push(`${path}: two cells would have the same name; a deployment is named like a level`);
  return problems;
}
