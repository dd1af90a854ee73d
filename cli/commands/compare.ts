/** `npm start -- compare`: results of any age and machine, compared with the first. */
import { compareRuns } from "../../benchmarks/compare/compare";
import { formatComparison, formatRun } from "../../benchmarks/compare/format";
import { BadInput } from "../../lib/errors";
import { readResultFiles } from "../../benchmarks/results/read";
import { print } from "../terminal/terminal";

/**
 * @param paths of results.json, or of directories that hold one; at least two
 * @param precision part of a figure that matters
 * @returns 0
 * @throws BadInput when a file cannot be read, or nothing in it can be compared with the first
 */
export function compareResults(paths: readonly string[], precision: number | undefined): number {
  if (paths.length < 2)
    throw new BadInput("compare", ["expected at least two results.json, or directories that hold one"]);
  if (precision !== undefined && !(precision > 0 && precision <= 1))
    throw new BadInput("--precision", [`is ${precision}: expected a part such as 0.05`]);
  const runs = readResultFiles(paths);
  const [first, ...others] = runs;
  if (first === undefined) return 0;
  print(...runs.map(({ path, results }) => formatRun(path, results)));
  const refused: string[] = [];
  for (const { path, results } of others) {
    const comparison = compareRuns(first.results, results, precision);
    print("", `${path} over ${first.path}`, ...formatComparison(comparison));
    const compared = [...comparison.rows, ...comparison.capacities];
    if (compared.every(({ judgement }) => judgement === "other-work"))
      refused.push(
        compared.length === 0
          ? `${path} measured nothing that ${first.path} did`
          : `${path} did other work than ${first.path} in everything`,
      );
  }
  if (refused.length > 0) throw new BadInput("compare", refused);
  return 0;
}
