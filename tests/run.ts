/**
 * `npm test`: first types, lint, order of rooms and format beside most tests, then the tests that need the machine for
 * themselves. The output ends with the skipped tests and their reasons, the failed tests and their messages, and the
 * line `N passed, N failed[, N skipped]`. Arguments go to vitest, and then only the tests run.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { print } from "../cli/terminal";
import { OUTCOME_FILE, outcomeSchema } from "./support/outcome";
import type { Outcome } from "./support/outcome";

const ROOT = resolve(__dirname, "..");
/** Lines of a failure that are repeated at the end; vitest prints all of them where the test fails. */
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

/** Types, lint, order of rooms and format. */
async function check(): Promise<Outcome> {
  const began = Date.now();
  const { status, output } = await run(process.execPath, ["--import", "tsx", "tests/static-checks.ts"], true);
  print(output.trimEnd(), `${status === 0 ? "✓" : "✗"} static checks (${((Date.now() - began) / 1000).toFixed(0)} s)`);
  return {
    passed: status === 0 ? 1 : 0,
    failed: status === 0 ? [] : [{ title: "static checks", message: output.trim() }],
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
        failed: [{ title: "vitest", message: `ended with ${status} before it wrote its outcome` }],
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

/** Tests that compare figures with a clock run last, when nothing else runs. */
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
  if (skipped.length > 0) print("", "Skipped on this machine:", ...skipped.map((title) => `  ${title}`));
  // Repeated here, because many lines of other tests may follow a failure.
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
