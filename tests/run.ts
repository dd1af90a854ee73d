/**
 * `npm test`: types, lint, and the tests, the real ones last. Ends with what did not run and why, and with the
 * line `N passed, N failed[, N skipped]`. Arguments go to vitest, and then only the tests run.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { print } from "../stacks/output";

const ROOT = resolve(__dirname, "..");

/** What is needed of vitest's JSON reporter. */
const reportSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numTotalTests: z.int(),
  numFailedTestSuites: z.int(),
  testResults: z.array(z.object({ status: z.string(), name: z.string(), assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })) })),
});

/** Runs a tool of this project's own. @returns its exit status and, where it is to be quiet, its output */
function tool(name: string, args: readonly string[], quiet: boolean): Promise<{ status: number; output: string }> {
  return new Promise((done) => {
    const child = spawn(join(ROOT, "node_modules", ".bin", name), args, { cwd: ROOT, stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"] });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", (error) => { done({ status: 1, output: error.message }); });
    child.on("close", (status) => { done({ status: status ?? 1, output }); });
  });
}

async function check(what: string, name: string, args: readonly string[]): Promise<boolean> {
  const began = Date.now();
  const { status, output } = await tool(name, args, true);
  if (status !== 0) print(output);
  print(`${status === 0 ? "✓" : "✗"} ${what} (${((Date.now() - began) / 1000).toFixed(0)} s)`);
  return status === 0;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Titles; their reasons are part of them. */
  readonly skipped: readonly string[];
}

async function vitest(args: readonly string[]): Promise<Counts> {
  const directory = mkdtempSync(join(tmpdir(), "tests-"));
  try {
    const file = join(directory, "report.json");
    const { status } = await tool("vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`, ...args], false);
    const report = reportSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    // A file that cannot even be loaded has no tests that fail.
    const unloaded = report.testResults.filter((each) => each.status === "failed" && each.assertionResults.every((test) => test.status !== "failed")).length;
    const failed = report.numFailedTests + unloaded;
    const skipped = report.testResults.flatMap((each) => each.assertionResults.flatMap((test) => (test.status === "skipped" || test.status === "pending" ? [test.fullName] : [])));
    return { passed: report.numPassedTests, failed: status !== 0 && failed === 0 ? 1 : failed, skipped };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function main(args: readonly string[]): Promise<number> {
  const checks = args.length > 0 ? [] : await Promise.all([check("types", "tsc", ["--noEmit"]), check("lint", "eslint", ["."])]);
  const { passed, failed, skipped } = await vitest(args);
  if (skipped.length > 0) print("", "Not run on this machine:", ...skipped.map((title) => `  ${title}`));
  const allPassed = passed + checks.filter((ok) => ok).length;
  const allFailed = failed + checks.filter((ok) => !ok).length;
  print("", `${allPassed} passed, ${allFailed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`);
  return allFailed === 0 && allPassed > 0 ? 0 : 1;
}

void main(process.argv.slice(2)).then((status) => process.exit(status));
