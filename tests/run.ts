/**
 * `npm test`: types and lint beside the tests, and last the tests that want the machine for themselves. Ends with what did not run and why, with what failed
 * and how, and with the line `N passed, N failed[, N skipped]`. Arguments go to vitest, and then only the tests run.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { print } from "../cli/terminal";
import { OUTCOME_FILE, outcomeSchema } from "./support/outcome";
import type { Outcome } from "./support/outcome";

const ROOT = resolve(__dirname, "..");
/** What was expected and where; the rest is printed where it failed. */
const LINES_OF_A_FAILURE = 12;

/** Runs a program. @returns its exit status and, where it is to be quiet, its output */
function run(
  program: string,
  args: readonly string[],
  quiet: boolean,
  env = process.env,
): Promise<{ status: number; output: string }> {
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      env,
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", (error) => {
      done({ status: 1, output: error.message });
    });
    child.on("close", (status) => {
      done({ status: status ?? 1, output });
    });
  });
}

/** Types and lint. */
async function check(): Promise<Outcome> {
  const began = Date.now();
  const { status, output } = await run(process.execPath, ["--import", "tsx", "tests/static-checks.ts"], true);
  print(output.trimEnd(), `${status === 0 ? "✓" : "✗"} types and lint (${((Date.now() - began) / 1000).toFixed(0)} s)`);
  return {
    passed: status === 0 ? 1 : 0,
    failed: status === 0 ? [] : [{ title: "types and lint", message: output.trim() }],
    skipped: [],
  };
}

async function vitest(args: readonly string[]): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), "tests-"));
  try {
    const file = join(directory, "outcome.json");
    const reporters = ["--reporter=default", `--reporter=${join(ROOT, "tests", "support", "outcome.ts")}`];
    const { status } = await run(join(ROOT, "node_modules", ".bin", "vitest"), ["run", ...reporters, ...args], false, {
      ...process.env,
      [OUTCOME_FILE]: file,
    });
    if (!existsSync(file))
      return {
        passed: 0,
        failed: [{ title: "vitest", message: `ended with ${status} before it could say what it had run` }],
        skipped: [],
      };
    const outcome = outcomeSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    return status !== 0 && outcome.failed.length === 0
      ? { ...outcome, failed: [{ title: "vitest", message: `ended with ${status}` }] }
      : outcome;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What holds figures against a clock comes last, when nothing else runs any more. */
async function everything(): Promise<Outcome> {
  const beside = await Promise.all([check(), vitest(["--project", "pure", "--project", "real"])]);
  return [...beside, await vitest(["--project", "alone"])].reduce(sum);
}

const sum = (a: Outcome, b: Outcome): Outcome => ({
  passed: a.passed + b.passed,
  failed: [...a.failed, ...b.failed],
  skipped: [...a.skipped, ...b.skipped],
});

async function main(args: readonly string[]): Promise<number> {
  const { passed, failed, skipped } = await (args.length > 0 ? vitest(args) : everything());
  if (skipped.length > 0) print("", "Not run on this machine:", ...skipped.map((title) => `  ${title}`));
  // Once more, where many lines of other tests came after.
  if (failed.length > 0)
    print(
      "",
      "Failed:",
      ...failed.flatMap(({ title, message }) => [
        `  ${title}`,
        ...message
          .split("\n")
          .filter((line) => !/^ *at .*(node_modules|node:)/.test(line))
          .slice(0, LINES_OF_A_FAILURE)
          .map((line) => `    ${line}`),
      ]),
    );
  print("", `${passed} passed, ${failed.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`);
  return failed.length === 0 && passed > 0 ? 0 : 1;
}

void main(process.argv.slice(2)).then((status) => process.exit(status));
