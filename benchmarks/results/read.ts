import { type Problem, BadInput, messageOf, problem } from "../../lib/errors";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Results, resultsSchema, SCHEMA_VERSION } from "./schema";

/**
 * Reads results.
 * @param paths paths of results.json, or of directories that contain results.json
 * @throws BadInput with all files that cannot be read, and the reasons
 */
export function readResultFiles(paths: readonly string[]): { readonly path: string; readonly results: Results }[] {
  const problems: Problem[] = [];
  const runs = paths.flatMap((path) => {
    try {
      return [{ path, results: readResults(path) }];
    } catch (error) {
      problems.push(problem("unreadable", path, messageOf(error)));
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
    throw new Error(`has version ${version} of the format; this program reads version ${SCHEMA_VERSION}`);
  const [issue] = parsed.error.issues;
  throw new Error(`is not in the format of results.json (${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""})`);
}
