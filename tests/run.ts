/**
 * `npm test`: types, lint, order of rooms and format beside the tests, then the tests that need the machine for
 * themselves. Says what runs as it goes. Files of real servers that fail are tried once more; what passes only then is
 * flaky, and named at the end. The output ends with the line `N passed, N failed[, N skipped]`.
 *
 * Arguments go to vitest, and then only the tests run: `npm test -- tests/valkey`. `--changed` runs what a change since
 * `main` can reach.
 */
import { execFileSync } from "node:child_process";
import { relative, resolve } from "node:path";
import type { TestSpecification, Vitest } from "vitest/node";
import { print } from "../cli/terminal/terminal";
import { changedFiles, reachedTests } from "./runner/changed";
import { closing } from "./runner/closing-lines";
import type { Outcome, TestRecord } from "./runner/outcome";
import { afterSecondTry, joined, NOTHING, recordsOf, timeOf, unhandledRecord } from "./runner/outcome";
import { Progress } from "./runner/progress";
import { checkStatically, STATIC_CHECKS } from "./static-checks";

const ROOT = resolve(__dirname, "..");
/** Tests without servers, which nothing but their own code can make fail. */
const WITHOUT_SERVERS = "pure";
const INTERRUPTED: TestRecord = { file: "the run", title: "", state: "failed", message: "was interrupted" };

async function runFiles(vitest: Vitest, specifications: TestSpecification[]): Promise<Outcome> {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, true);
  // Vitest answers with the files of earlier runs, too.
  const ids = new Set(specifications.map(({ moduleId }) => moduleId));
  const modules = testModules.filter(({ moduleId }) => ids.has(moduleId));
  return {
    records: [...modules.flatMap(recordsOf), ...unhandledErrors.map(unhandledRecord)],
    times: modules.map(timeOf),
  };
}

/** Tries files of real servers once more that failed, one after the other. */
async function tryAgain(
  vitest: Vitest,
  first: Outcome,
  files: readonly TestSpecification[],
  progress: Progress,
): Promise<Outcome> {
  const nameOf = ({ moduleId }: TestSpecification): string => relative(vitest.config.root, moduleId);
  const failed = new Set(first.records.filter(({ state }) => state === "failed").map(({ file }) => file));
  const again = files.filter((file) => file.project.name !== WITHOUT_SERVERS && failed.has(nameOf(file)));
  progress.expect(again.length);
  let second = NOTHING;
  for (const file of again) second = joined(second, await runFiles(vitest, [file]));
  return afterSecondTry(first, second, new Set(again.map(nameOf)));
}

async function runTests(args: readonly string[], progress: Progress): Promise<Outcome> {
  // Vitest is published as ES modules only.
  const { createVitest, parseCLI } = await import("vitest/node");
  const { filter, options } = parseCLI(["vitest", "run", ...args.filter((arg) => arg !== "--changed")]);
  const vitest = await createVitest("test", { ...options, watch: false, reporters: [progress] });
  try {
    await vitest.standalone();
    const all = await vitest.globTestSpecifications(filter);
    const reached = args.includes("--changed") ? testsReachedByChange() : undefined;
    const files = all.filter(({ moduleId }) => reached?.has(relative(ROOT, moduleId)) ?? true);
    if (files.length === 0) return NOTHING;
    progress.expect(files.length);
    const interruption = new AbortController();
    // Vitest's own listener ends the process at once, which leaves the servers of the running tests behind.
    process.removeAllListeners("SIGINT");
    process.once("SIGINT", () => {
      interruption.abort();
      process.once("SIGINT", () => process.exit(130));
      print("Interrupted: what runs is ended in order; press Ctrl-C again to quit at once.");
      void vitest.cancelCurrentRun("keyboard-input");
    });
    const first = await runFiles(vitest, files);
    if (interruption.signal.aborted) return joined(first, { ...NOTHING, records: [INTERRUPTED] });
    // Tests that a pattern leaves out are not skipped for want of something.
    const { records, times } = await tryAgain(vitest, first, files, progress);
    const isLeftOut = ({ state, message }: TestRecord): boolean => state === "skipped" && message === undefined;
    return {
      records: options.testNamePattern === undefined ? records : records.filter((each) => !isLeftOut(each)),
      times,
    };
  } finally {
    await vitest.close();
  }
}

function testsReachedByChange(): ReadonlySet<string> {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return new Set(reachedTests(ROOT, files.split("\n"), changedFiles(ROOT)));
}

async function main(args: readonly string[]): Promise<number> {
  const progress = new Progress();
  const parts = [runTests(args, progress)];
  if (args.length === 0) parts.push(progress.beside(STATIC_CHECKS, checkStatically()));
  const { lines, status } = closing((await Promise.all(parts)).reduce(joined));
  progress.close();
  print(...lines);
  return status;
}

void main(process.argv.slice(2)).then((status) => process.exit(status));
