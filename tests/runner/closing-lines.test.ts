import { describe, expect, it } from "vitest";
import { closing } from "./closing-lines";
import type { TestRecord } from "./outcome";
import { afterSecondTry, NOTHING } from "./outcome";

const record = (title: string, state: TestRecord["state"], message?: string, file = "a.test.ts"): TestRecord => ({
  file,
  title,
  state,
  message,
});
const outcome = (...records: TestRecord[]) => ({ ...NOTHING, records });

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

describe("a second try", () => {
  const first = outcome(
    record("steady", "passed"),
    record("unsteady", "failed", "first error"),
    record("suite (before or after its tests)", "failed", "a hook"),
    record("elsewhere", "failed", "its error", "b.test.ts"),
  );

  it("makes flaky what passes then, with the error of the first try, and keeps the rest", () => {
    const second = outcome(record("steady", "passed"), record("unsteady", "passed"), record("within suite", "passed"));
    expect(afterSecondTry(first, second, new Set(["a.test.ts"])).records).toEqual([
      record("elsewhere", "failed", "its error", "b.test.ts"),
      record("steady", "passed"),
      record("unsteady", "flaky", "first error"),
      record("within suite", "passed"),
      record("suite (before or after its tests)", "flaky", "a hook"),
    ]);
  });

  it("fails what fails then, also when it passed before", () => {
    const second = outcome(record("steady", "failed", "new"), record("unsteady", "failed", "again"));
    const { records } = afterSecondTry(first, second, new Set(["a.test.ts"]));
    expect(records).toContainEqual(record("steady", "failed", "new"));
    expect(records).toContainEqual(record("unsteady", "failed", "again"));
  });
});
