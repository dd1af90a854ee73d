/** `npm start -- compare`: results of any age and machine, compared with the first. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { compareRuns } from "../../benchmarks/compare/compare";
import { formatComparison, formatRun } from "../../benchmarks/compare/format";
import { BadInput, messageOf } from "../../lib/errors";
import type { Results } from "../../benchmarks/results/schema";
import { resultsSchema, SCHEMA_VERSION } from "../../benchmarks/results/schema";
import { print } from "../terminal";

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

/** @throws BadInput with every file that cannot be read, and why */
export function readResultFiles(paths: readonly string[]): { readonly path: string; readonly results: Results }[] {
  const problems: string[] = [];
  const runs = paths.flatMap((path) => {
    try {
      return [{ path, results: readResults(path) }];
    } catch (error) {
      problems.push(`${path}: ${messageOf(error)}`);
      return [];
    }
  });
  if (problems.length > 0) throw new BadInput("results", problems);
  return runs;
}

function readResults(path: string): Results {
  if (!existsSync(path)) throw new Error("no such file or directory");
  const file = statSync(path).isDirectory() ? join(path, "results.json") : path;
  if (!existsSync(file)) throw new Error("the directory holds no results.json");
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`is not JSON: ${messageOf(error)}`, { cause: error });
  }
  const parsed = resultsSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const version: unknown =
    typeof content === "object" && content !== null && "schema" in content ? content.schema : undefined;
  if (typeof version === "number" && version !== SCHEMA_VERSION)
    throw new Error(`has version ${version} of the format; this program reads ${SCHEMA_VERSION}`);
  const [issue] = parsed.error.issues;
  throw new Error(`is not in the format of results.json (${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""})`);
}
