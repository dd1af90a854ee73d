/** What a run of vitest came to, written by a reporter to a file for whoever began it. */
import { writeFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule, TestRunEndReason, TestSuite } from "vitest/node";
import { z } from "zod";

/** Names the file to write. */
export const OUTCOME_FILE = "VALKEY_TEST_OUTCOME";

export const outcomeSchema = z.object({
  passed: z.int(),
  /** Tests, hooks, files that cannot be loaded, and errors that are no test's. */
  failed: z.array(z.object({ title: z.string(), message: z.string() })),
  /** Titles, and reasons where they are no part of these. */
  skipped: z.array(z.string()),
});
export type Outcome = z.infer<typeof outcomeSchema>;
type Failure = Outcome["failed"][number];
type Errors = readonly ReturnType<TestModule["errors"]>[number][];

const failure = (title: string, errors: Errors | undefined): Failure => ({
  title,
  message: (errors ?? []).map(({ name, message, stack }) => stack ?? `${name ?? "Error"}: ${message}`).join("\n"),
});

function isWithin(test: TestCase, broken: ReadonlySet<TestSuite | TestModule>): boolean {
  for (let parent: TestSuite | TestModule = test.parent; ; parent = parent.parent) {
    if (broken.has(parent)) return true;
    if (parent.type === "module") return false;
  }
}

export default class OutcomeReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: Errors, reason: TestRunEndReason): void {
    const file = process.env[OUTCOME_FILE];
    if (file === undefined) return;
    const outcome: Outcome = {
      passed: 0,
      failed: unhandled.map((error) => failure("an error of no test's own", [error])),
      skipped: [],
    };
    for (const module of modules) {
      const broken = new Set([module, ...module.children.allSuites()].filter((part) => part.errors().length > 0));
      for (const part of broken)
        outcome.failed.push(
          failure(
            part.type === "module"
              ? part.relativeModuleId
              : `${module.relativeModuleId}: ${part.fullName} (before or after its tests)`,
            part.errors(),
          ),
        );
      for (const test of module.children.allTests()) this.#add(outcome, test, isWithin(test, broken));
    }
    if (reason === "interrupted") outcome.failed.push({ title: "vitest", message: "was interrupted" });
    writeFileSync(file, JSON.stringify(outcome));
  }

  #add(outcome: Outcome, test: TestCase, isBroken: boolean): void {
    const result = test.result();
    if (result.state === "passed") outcome.passed++;
    else if (result.state === "failed")
      outcome.failed.push(failure(`${test.module.relativeModuleId}: ${test.fullName}`, result.errors));
    else if (result.state === "pending")
      outcome.failed.push({
        title: `${test.module.relativeModuleId}: ${test.fullName}`,
        message: "did not come to its end",
      });
    // What did not run because something before it failed is counted there.
    else if (!isBroken)
      outcome.skipped.push(result.note === undefined ? test.fullName : `${test.fullName} (skipped: ${result.note})`);
  }
}
