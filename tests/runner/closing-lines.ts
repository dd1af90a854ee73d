/**
 * The last lines of `npm test`: slowest files, waits, skipped tests by reason, flaky tests, failed tests, and the count. The
 * failed tests come last. So if only the end of a log is kept, it still has them.
 */
import type { Outcome, TestRecord } from "./outcome";

/** More flaky tests than this fail the run. */
export const MOST_FLAKY = 2;
const SLOWEST = 10;
/** Lines of a failure that are repeated at the end; all of them stand where the test failed. */
const LINES_OF_A_FAILURE = 12;
/** Lines of all failures that are repeated at the end, so that the last 200 lines of a log name every failed test. */
const LINES_OF_FAILURES = 150;
/** Failed tests that a run names while it runs. */
const MOST_NAMED = 60;
const LONGEST_NAME = 300;

export interface Closing {
  readonly lines: readonly string[];
  /** Exit status. */
  readonly status: 0 | 1;
}

/** Judges an outcome. A run without a test that passed fails. */
export function closing({ records, times }: Outcome, waits: readonly string[] = []): Closing {
  const inState = (state: TestRecord["state"]): TestRecord[] => records.filter((each) => each.state === state);
  const [flaky, failed, skipped] = [inState("flaky"), inState("failed"), inState("skipped")];
  const passed = inState("passed").length + flaky.length;
  const fail = (file: string, message: string): unknown => failed.push({ file, title: "", state: "failed", message });
  if (flaky.length > MOST_FLAKY) fail(`${flaky.length} flaky tests`, `at most ${MOST_FLAKY} may be`);
  if (passed + failed.length === 0) fail("no test ran", "no file matches, or all tests were skipped");
  const count = `${passed} passed, ${failed.length} failed`;
  return {
    lines: [
      ...section("Slowest files:", slowest(times)),
      ...section("Waits (processors that neither the tests nor another program of this machine used):", waits),
      ...section("Skipped on this machine (CONTRIBUTING.md says how each group runs):", skippedGroups(skipped)),
      ...section(
        `Flaky, passed at the second try only: ${flaky.length}, at most ${MOST_FLAKY} may be`,
        flaky.flatMap((record) => failureText(record, LINES_OF_A_FAILURE, "flaky: ")),
      ),
      ...section(
        "Failed:",
        failed.flatMap((each) =>
          failureText(each, Math.min(LINES_OF_A_FAILURE, Math.floor(LINES_OF_FAILURES / failed.length) - 1)),
        ),
      ),
      "",
      skipped.length > 0 ? `${count}, ${skipped.length} skipped` : count,
    ],
    status: failed.length === 0 ? 0 : 1,
  };
}

/** A failure as it is told when it happens, with the whole error but for frames of libraries. */
export function failureText(record: TestRecord, most = Infinity, prefix = ""): string[] {
  const lines = ownLines(record.message).slice(0, Math.max(0, most));
  return [prefix + nameOf(record), ...lines.map((line) => `  ${line}`)];
}

/** Failed tests so far, each test in one line. */
export function failedSoFar(records: readonly TestRecord[]): string[] {
  const failed = records.filter(({ state }) => state === "failed" || state === "flaky");
  if (failed.length === 0) return [];
  const named = failed.slice(0, MOST_NAMED).map((each) => {
    const prefix = each.state === "flaky" ? "flaky: " : "";
    return `  ${prefix}${nameOf(each)}: ${ownLines(each.message)[0] ?? ""}`.slice(0, LONGEST_NAME);
  });
  const others = failed.length - named.length;
  return [`Failed so far: ${failed.length}`, ...named, ...(others > 0 ? [`  and ${others} others`] : [])];
}

function section(heading: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", heading, ...lines.map((line) => `  ${line}`)];
}

function slowest(times: Outcome["times"]): string[] {
  return [...times]
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${file}`);
}

function skippedGroups(skipped: readonly TestRecord[]): string[] {
  const groups = new Map<string, number>();
  for (const record of skipped) {
    const reason = record.message ?? `no reason given: ${nameOf(record)}`;
    groups.set(reason, (groups.get(reason) ?? 0) + 1);
  }
  return [...groups].sort(([, a], [, b]) => b - a).map(([reason, count]) => `${String(count).padStart(4)}  ${reason}`);
}

const nameOf = ({ file, title }: TestRecord): string => (title === "" ? file : `${file}: ${title}`);

const ownLines = (message = ""): string[] =>
  message.split("\n").filter((line) => !/^ *at .*(node_modules|node:)/.test(line));
