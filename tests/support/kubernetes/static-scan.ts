/** checkov over objects of Kubernetes, where it is installed. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

const checkov = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((directory) => join(directory, "checkov"))
  .find((file) => existsSync(file));
export const SCAN_SKIP_NOTE =
  checkov === undefined ? " (skipped: there is no checkov on the PATH; pip install checkov)" : "";

const reportSchema = z.object({
  summary: z.object({ passed: z.int(), failed: z.int() }),
  results: z.object({ failed_checks: z.array(z.object({ check_id: z.string(), resource: z.string() })) }),
});

/** @returns how many checks pass, and each that does not: `CKV_K8S_43 StatefulSet.valkey.cluster` */
export async function scanObjects(
  objects: readonly { readonly kind?: string; readonly metadata?: { readonly name?: string } }[],
): Promise<{ readonly passed: number; readonly findings: readonly string[] }> {
  const directory = mkdtempSync(join(tmpdir(), "scan-"));
  try {
    objects.forEach((object, index) => {
      writeFileSync(join(directory, `${index}-${object.kind ?? ""}.json`), JSON.stringify(object));
    });
    const { stdout } = await promisify(execFile)(checkov ?? "", [
      "--directory",
      directory,
      "--framework",
      "kubernetes",
      "--output",
      "json",
      "--skip-download",
      "--soft-fail",
    ]);
    const { summary, results } = reportSchema.parse(JSON.parse(stdout));
    return {
      passed: summary.passed,
      findings: results.failed_checks.map(({ check_id, resource }) => `${check_id} ${resource}`).sort(),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
