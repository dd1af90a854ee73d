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
  /** For a row of a story, whether it leaves the deployment as it was or in a state that later rows need. */
  readonly row?: "returns" | "leaves" | undefined;
}

declare module "vitest" {
  interface TaskMeta {
    row?: TestRecord["row"];
  }
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
  const { row } = test.meta();
  const own = { file, title, ...(row && { row }) };
  switch (result.state) {
    case "passed":
      return [{ ...own, state: "passed" }];
    case "failed":
      return [{ ...own, state: "failed", message: textOf(result.errors) }];
    case "pending":
      return [{ ...own, state: "failed", message: "did not come to its end" }];
    case "skipped":
      return isBroken ? [] : [{ ...own, state: "skipped", message: result.note ?? reasonIn(title) }];
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

/**
 * The tests of a file that its second try runs: the rows of a story that failed or were not tried, and those before them
 * whose state they need. @returns undefined for the whole file
 */
export function toRepeat(first: readonly TestRecord[]): RegExp | undefined {
  const isMissing = ({ state, row }: TestRecord): boolean =>
    state === "failed" || (state === "skipped" && row !== undefined);
  const last = first.findLastIndex(isMissing);
  if (first.some((record) => isMissing(record) && record.row === undefined)) return undefined;
  const titles = first.flatMap((record, index) =>
    isMissing(record) || (index < last && record.row === "leaves") ? patternOf(record.title) : [],
  );
  return new RegExp(`^(?:${titles.join("|")})$`);
}

/** A title as vitest matches it: names of suites and of the test, with spaces between them. */
const patternOf = (title: string): string => title.replaceAll(" > ", " ").replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");

/**
 * Records of a file that ran twice, the second time maybe in part. What failed once is flaky and keeps its error; what
 * failed in the second try has failed.
 */
export function afterSecondTry(first: readonly TestRecord[], second: readonly TestRecord[]): TestRecord[] {
  const before = new Map(first.map((each) => [each.title, each]));
  const failedFirst = new Map([...before].filter(([, { state }]) => state === "failed"));
  const again = second.map((record): TestRecord => {
    const own = before.get(record.title);
    if (own === undefined) return record;
    if (record.state === "skipped" && record.message === undefined) return own;
    return record.state === "passed" && own.state === "failed" ? { ...own, state: "flaky" } : record;
  });
  const seen = new Set(again.map(({ title }) => title));
  // A hook that did not fail again leaves no trace in the second try.
  const vanished = [...failedFirst.values()].filter(({ title }) => !seen.has(title));
  return [...again, ...vanished.map((each): TestRecord => ({ ...each, state: "flaky" }))];
}
