import { compareRuns } from "../../benchmarks/compare/compare";
import { formatComparison, formatRun } from "../../benchmarks/compare/format";
import { BadInput } from "../../lib/errors";
import { readResultFiles } from "../../benchmarks/results/read";
import { wrongValue } from "../running/options";
import { print } from "../terminal/terminal";

export function compareResults(paths: readonly string[], precision: unknown): number {
  if (paths.length < 2)
    throw BadInput.of("compare", "too-few-results", "expected at least two results.json, or directories that hold one");
  if (precision !== undefined && !(typeof precision === "number" && precision > 0 && precision <= 1))
    throw new BadInput("compare", [wrongValue("--precision", precision, "a fraction such as 0.05", "wrong-precision")]);
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
          ? `${path} and ${first.path} have no measurement in common`
          : `${path} and ${first.path} used different workloads in every measurement`,
      );
  }
  if (refused.length > 0) throw BadInput.of("compare", "nothing-in-common", refused);
  return 0;
}
