/**
 * The last lines of `npm test`: slowest files, skipped tests by reason, flaky tests, failed tests, and the count. The
 * failed tests come last. So if only the end of a log is kept, it still has them.
 */
import type { Outcome, TestRecord } from "./outcome";

/** More flaky tests than this fail the run. */
export const MOST_FLAKY = 2;
const SLOWEST = 10;
/** Lines of a failure that are repeated at the end; all of them stand where the test failed. */
const LINES_OF_A_FAILURE = 12;

export interface Closing {
  readonly lines: readonly string[];
  /** Exit status. */
  readonly status: 0 | 1;
}

/** Judges an outcome. A run without a test that passed fails. */
export function closing({ records, times }: Outcome): Closing {
  const inState = (state: TestRecord["state"]): TestRecord[] => records.filter((each) => each.state === state);
  const [passed, flaky, failed, skipped] = (["passed", "flaky", "failed", "skipped"] as const).map(inState) as [
    TestRecord[],
    TestRecord[],
    TestRecord[],
    TestRecord[],
  ];
  if (flaky.length > MOST_FLAKY)
    failed.push({
      file: `${flaky.length} flaky tests`,
      title: "",
      state: "failed",
      message: `at most ${MOST_FLAKY} may be`,
    });
  if (passed.length + flaky.length + failed.length === 0)
    failed.push({
      file: "no test ran",
      title: "",
      state: "failed",
      message: "no file matches, or all tests were skipped",
    });
  const count = `${passed.length + flaky.length} passed, ${failed.length} failed`;
  return {
    lines: [
      ...section("Slowest files:", slowest(times)),
      ...section("Skipped on this machine (CONTRIBUTING.md says how each group runs):", skippedGroups(skipped)),
      ...section(
        `Flaky, passed at the second try only: ${flaky.length}, at most ${MOST_FLAKY} may be`,
        flaky.map((record) => `flaky: ${nameOf(record)}: ${firstLine(record.message)}`),
      ),
      ...section("Failed:", failed.flatMap(failureLines)),
      "",
      skipped.length > 0 ? `${count}, ${skipped.length} skipped` : count,
    ],
    status: failed.length === 0 ? 0 : 1,
  };
}

/** A failure as it is told when it happens, with the whole error but for frames of libraries. */
export function failureText(record: TestRecord): string[] {
  return [nameOf(record), ...ownLines(record.message).map((line) => `  ${line}`)];
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

function failureLines(record: TestRecord): string[] {
  return [
    nameOf(record),
    ...ownLines(record.message)
      .slice(0, LINES_OF_A_FAILURE)
      .map((line) => `  ${line}`),
  ];
}

const nameOf = ({ file, title }: TestRecord): string => (title === "" ? file : `${file}: ${title}`);

const ownLines = (message = ""): string[] =>
  message.split("\n").filter((line) => !/^ *at .*(node_modules|node:)/.test(line));

const firstLine = (message = ""): string => message.split("\n")[0] ?? "";
