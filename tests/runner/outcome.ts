/** Results of test runs as plain data: what vitest reports, and what a second try of the same files makes of it. */
import type { TestCase, TestModule, TestSuite } from "vitest/node";

/** A test, or what stands for tests that could not run: a hook, a file, a static check, an error outside of all tests. */
export interface TestRecord {
  /** Path from the root of the checkout, or the name of a program that is not a test file. */
  readonly file: string;
  /** Empty for the file itself. */
  readonly title: string;
  /** `flaky`: failed in one of two tries. */
  readonly state: "passed" | "failed" | "flaky" | "skipped";
  /** Errors of a failure; the reason why a test was skipped, undefined where it gives none. */
  readonly message?: string | undefined;
}

export interface FileTime {
  readonly file: string;
  readonly seconds: number;
}

export interface Outcome {
  readonly records: readonly TestRecord[];
  readonly times: readonly FileTime[];
}

interface TestError {
  readonly name?: string;
  readonly message: string;
  readonly stack?: string | undefined;
  /** Difference between two values or files. */
  readonly diff?: string | undefined;
  readonly cause?: unknown;
}

/** Lines of a difference that are shown. */
const DIFF_LINES = 60;

/** With causes: of a property that fails, only the cause says what went wrong. */
function textOf(errors: readonly TestError[] = []): string {
  const textsOf = ({ name, message, stack, diff, cause }: TestError): string[] => [
    stack ?? `${name ?? "Error"}: ${message}`,
    ...(diff === undefined ? [] : diff.split("\n").slice(0, DIFF_LINES)),
    ...(isError(cause) ? textsOf(cause).map((text) => `caused by ${text}`) : []),
  ];
  return errors.flatMap(textsOf).join("\n");
}

const isError = (cause: unknown): cause is TestError =>
  typeof cause === "object" && cause !== null && "message" in cause && typeof cause.message === "string";

/** Records of one file. A test that did not run because a hook before it failed has none: the hook has one. */
export function recordsOf(module: TestModule): TestRecord[] {
  const file = module.relativeModuleId;
  const broken = new Set([module, ...module.children.allSuites()].filter((part) => part.errors().length > 0));
  return [
    ...[...broken].map((part): TestRecord => {
      const title = part.type === "module" ? "" : `${part.fullName} (before or after its tests)`;
      return { file, title, state: "failed", message: textOf(part.errors()) };
    }),
    ...[...module.children.allTests()].flatMap((test) => recordOf(file, test, isWithin(test, broken))),
  ];
}

/** Record of a test, or nothing if a broken hook kept it from running. */
export function recordOf(file: string, test: TestCase, isBroken = false): TestRecord[] {
  const result = test.result();
  const title = test.fullName;
  switch (result.state) {
    case "passed":
      return [{ file, title, state: "passed" }];
    case "failed":
      return [{ file, title, state: "failed", message: textOf(result.errors) }];
    case "pending":
      return [{ file, title, state: "failed", message: "did not come to its end" }];
    case "skipped":
      return isBroken ? [] : [{ file, title, state: "skipped", message: result.note ?? reasonIn(title) }];
  }
}

/** Tests that a whole suite skips say why in its title: `… (skipped: no Chromium on the PATH)`. */
function reasonIn(title: string): string | undefined {
  return /\(skipped: (.*?)\)(?: |$)/.exec(title)?.[1];
}

function isWithin(test: TestCase, broken: ReadonlySet<TestSuite | TestModule>): boolean {
  for (let parent: TestSuite | TestModule = test.parent; ; parent = parent.parent) {
    if (broken.has(parent)) return true;
    if (parent.type === "module") return false;
  }
}

/** An error that no test awaited. */
export function unhandledRecord(error: unknown): TestRecord {
  const message = error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(error);
  return { file: "vitest", title: "an error outside of all tests", state: "failed", message };
}

/** Seconds from the import of the file to the end of its last hook. */
export function timeOf(module: TestModule): FileTime {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return { file: module.relativeModuleId, seconds: (collectDuration + setupDuration + duration) / 1000 };
}

/** Records of a file that ran twice. What failed once is flaky and keeps its error; what failed in the second try has failed. */
export function afterSecondTry(first: readonly TestRecord[], second: readonly TestRecord[]): TestRecord[] {
  const failedFirst = new Map(first.filter(({ state }) => state === "failed").map((each) => [each.title, each]));
  const again = second.map((record): TestRecord => {
    const before = failedFirst.get(record.title);
    return record.state === "passed" && before !== undefined ? { ...before, state: "flaky" } : record;
  });
  const seen = new Set(again.map(({ title }) => title));
  // A hook that did not fail again leaves no trace in the second try.
  const vanished = [...failedFirst.values()].filter(({ title }) => !seen.has(title));
  return [...again, ...vanished.map((each): TestRecord => ({ ...each, state: "flaky" }))];
}
