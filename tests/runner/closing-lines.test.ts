import { describe, expect, it } from "vitest";
import { closing, failedSoFar } from "./closing-lines";
import { type TestRecord, afterSecondTry, toRepeat } from "./outcome";

const record = (title: string, state: TestRecord["state"], message?: string, file = "a.test.ts"): TestRecord => ({
  file,
  title,
  state,
  message,
});
const outcome = (...records: TestRecord[]) => ({ records, times: [] });

describe("the last lines of npm test", () => {
  it("name the ten slowest files, the slowest first", () => {
    const times = Array.from({ length: 12 }, (_, seconds) => ({ file: `f${seconds}`, seconds }));
    const { lines } = closing({ records: [record("holds", "passed")], times });
    const files = lines.flatMap((line) => /s {2}(f\d+)$/.exec(line)?.[1] ?? []);
    expect(files).toEqual(["f11", "f10", "f9", "f8", "f7", "f6", "f5", "f4", "f3", "f2"]);
  });

  it("have no section that says nothing", () => {
    expect(closing(outcome(record("holds", "passed"))).lines).toEqual(["", "1 passed, 0 failed"]);
  });
});

describe("200 lines of a log", () => {
  const many = Array.from({ length: 70 }, (_, n) =>
    record(`test ${n}`, "failed", `error ${n}\n${"more\n".repeat(20)}`),
  );

  it("are enough for every failure of a run that ended", () => {
    const last = closing(outcome(...many)).lines.slice(-200);
    for (const { title } of many) expect(last).toContain(`  a.test.ts: ${title}`);
  });

  it("are enough for what failed so far, with the first line of each error, twice", () => {
    const lines = failedSoFar([record("holds", "passed"), record("late", "flaky", "at first"), ...many]);
    expect(lines.slice(0, 3)).toEqual([
      "Failed so far: 71",
      "  flaky: a.test.ts: late: at first",
      "  a.test.ts: test 0: error 0",
    ]);
    expect(lines.at(-1)).toMatch(/^ {2}and \d+ others$/);
    expect(lines.length).toBeLessThan(70);
  });
});

describe("a second try", () => {
  const first = [
    record("steady", "passed"),
    record("unsteady", "failed", "first error"),
    record("suite (before or after its tests)", "failed", "a hook"),
  ];

  it("makes flaky what passes then, with the error of the first try, and keeps the rest", () => {
    const second = [record("steady", "passed"), record("unsteady", "passed"), record("within suite", "passed")];
    expect(afterSecondTry(first, second)).toEqual([
      record("steady", "passed"),
      record("unsteady", "flaky", "first error"),
      record("within suite", "passed"),
      record("suite (before or after its tests)", "flaky", "a hook"),
    ]);
  });

  it("fails what fails then, also when it passed before", () => {
    const records = afterSecondTry(first, [record("steady", "failed", "new"), record("unsteady", "failed", "again")]);
    expect(records).toContainEqual(record("steady", "failed", "new"));
    expect(records).toContainEqual(record("unsteady", "failed", "again"));
  });

  describe("of a story", () => {
    const row = (title: string, state: TestRecord["state"], leaves = false): TestRecord => ({
      ...record(`story > ${title}`, state, state === "passed" ? undefined : "why"),
      row: leaves ? "leaves" : "returns",
    });
    const rows = [
      row("first", "passed"),
      row("grows (a lot)", "passed", true),
      row("fails", "failed"),
      row("after it", "skipped"),
      row("shrinks", "passed", true),
    ];

    it("repeats rows that failed or were not tried, and those before them whose state they need", () => {
      const repeated = rows.filter(({ title }) => toRepeat(rows)?.test(title.replace(" > ", " ")));
      expect(repeated).toEqual(rows.slice(1, 4));
    });

    it("repeats the whole file after a failure outside of rows", () => {
      expect(toRepeat([...rows, record("leaves nothing", "failed", "an object")])).toBeUndefined();
    });

    it("keeps the records of rows that it leaves out", () => {
      const again = rows.map((each): TestRecord => ({
        ...each,
        state: each.state === "failed" ? "passed" : "skipped",
        message: undefined,
      }));
      const kept = rows.map((each): TestRecord => (each.state === "failed" ? { ...each, state: "flaky" } : each));
      expect(afterSecondTry(rows, again)).toEqual(kept);
    });
  });
});
