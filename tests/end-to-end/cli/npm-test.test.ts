/** The command that runs the tests counts what it should: on tests of its own, which fail in every way there is. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../../lib/system/package";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tests-of-tests-"));
  mkdirSync(join(directory, "tests"));
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

interface Run {
  readonly status: number | null;
  readonly lines: readonly string[];
  /** Lines below a heading, without the indented lines of errors. */
  readonly below: (heading: RegExp) => string[];
}

/** Passes from its second run on. */
const FLAKY = (name: string): string => `
it("passes at last: ${name}", () => {
  const seen = join(import.meta.dirname, "${name}.seen");
  if (existsSync(seen)) return;
  writeFileSync(seen, "");
  throw new Error("first error of ${name}");
});`;

/** @param files bodies by name, to which what they use is imported @param signalAt output at which Ctrl-C is pressed */
async function run(files: Record<string, string>, signalAt?: RegExp): Promise<Run> {
  for (const [name, body] of Object.entries(files))
    writeFileSync(
      join(directory, "tests", `${name}.test.ts`),
      `import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, afterAll, describe, expect, it } from "vitest";\n${body}\n`,
    );
  writeFileSync(
    join(directory, "vitest.config.mjs"),
    `const project = (name, exclude, include) => ({ test: { name, include, exclude } });
export default { test: { projects: [
  project("pure", [], ["tests/pure*.test.ts"]), project("real", ["tests/pure*.test.ts"], ["tests/*.test.ts"]),
] } };`,
  );
  // Nothing may be taken over of the run that this test is part of.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^VITEST|^VALKEY_TEST|^NODE_OPTIONS$/.test(name)),
  );
  const child = spawn(process.execPath, ["--import", "tsx", join(ROOT, "tests", "run.ts"), "--root", directory], {
    cwd: ROOT,
    env: { ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const isEarlier = signalAt?.test(output) !== false;
    output += chunk.toString();
    if (!isEarlier && signalAt.test(output)) child.kill("SIGINT");
  });
  const lines = (await text(child.stdout)).trimEnd().split("\n");
  const below = (heading: RegExp): string[] => {
    const from = lines.findIndex((line) => heading.test(line)) + 1;
    const part = from === 0 ? [] : lines.slice(from, lines.indexOf("", from));
    return part.filter((line) => /^ {2}\S/.test(line) || /^ +\d+ {2}/.test(line)).map((line) => line.trim());
  };
  return { status: await ended, lines, below };
}

describe("npm test", { timeout: 60_000 }, () => {
  it("passes when all tests do that are not skipped, and counts those by their reason", async () => {
    const { status, lines, below } = await run({
      one: `it("holds", () => {});
it("cannot be", ({ skip }) => { skip("needs a moon"); });
describe.skip("a suite (skipped: needs a moon)", () => { it("a", () => {}); it("b", () => {}); });
it.skip("is left out", () => {});`,
    });
    expect(below(/^Skipped/)).toEqual(["3  needs a moon", "1  no reason given: tests/one.test.ts: is left out"]);
    expect(below(/^Failed/)).toEqual([]);
    expect(lines.at(-1)).toBe("1 passed, 0 failed, 4 skipped");
    expect(status).toBe(0);
  });

  it("counts and names a test, a hook, a file and an error of no test that fail", async () => {
    const { status, lines, below } = await run({
      "pure-test": `it("breaks", () => { expect(1).toBe(2); });`,
      // A test that a hook keeps from running is not skipped.
      before: `describe("suite", () => { beforeAll(() => { throw new Error("no ground"); }); it("stands on it", () => {}); });`,
      after: `describe("suite", () => { afterAll(() => { throw new Error("left behind"); }); it("works", () => {}); });`,
      file: `import "./nowhere";`,
      holds: `it("holds", () => {});`,
    });
    expect(below(/^Failed/).sort()).toEqual([
      "tests/after.test.ts: suite (before or after its tests)",
      "tests/before.test.ts: suite (before or after its tests)",
      "tests/file.test.ts",
      "tests/pure-test.test.ts: breaks",
    ]);
    const told = lines.slice(lines.lastIndexOf("Failed:")).join("\n");
    for (const message of [/expected 1 to be 2/, /no ground/, /left behind/, /nowhere/]) expect(told).toMatch(message);
    expect(lines.at(-1)).toBe("2 passed, 4 failed");
    expect(status).toBe(1);
  });

  it("fails for an error that nobody awaits, and when the process of a file is gone", async () => {
    const { status, lines, below } = await run({
      leaves: `it("leaves", async () => { void Promise.reject(new Error("unheard")); await new Promise((done) => setTimeout(done, 50)); });`,
      falls: `it("falls", () => { process.kill(process.pid, "SIGKILL"); });`,
      holds: `it("holds", () => {});`,
    });
    expect(below(/^Failed/).join("\n")).toMatch(/an error outside of all tests/);
    expect(lines.join("\n")).toMatch(/unheard/);
    expect(lines.at(-1)).toMatch(/^2 passed, [2-4] failed$/);
    expect(status).toBe(1);
  });

  it("tries tests on real servers twice, and names those that passed only then", async () => {
    const { status, lines, below } = await run({ one: FLAKY("one"), two: FLAKY("two") });
    expect(below(/^Flaky.*: 2, /).sort()).toEqual(
      ["one", "two"].map(
        (name) => `flaky: tests/${name}.test.ts: passes at last: ${name}: Error: first error of ${name}`,
      ),
    );
    expect(lines.join("\n")).toMatch(/✗ tests\/one.test.ts: passes at last: one\n {2}Error: first error of one/);
    expect(lines.at(-1)).toBe("2 passed, 0 failed");
    expect(status).toBe(0);
  });

  it("fails for a third flaky test", async () => {
    const { status, lines, below } = await run({ one: FLAKY("one") + FLAKY("two"), three: FLAKY("three") });
    expect(below(/^Failed/)).toEqual(["3 flaky tests"]);
    expect(lines.at(-1)).toBe("3 passed, 1 failed");
    expect(status).toBe(1);
  });

  it("fails for a test without servers that would pass at a second try", async () => {
    const { status, below } = await run({ "pure-one": FLAKY("one") });
    expect(below(/^Failed/)).toEqual(["tests/pure-one.test.ts: passes at last: one"]);
    expect(status).toBe(1);
  });

  it("fails when it is interrupted, or when nothing runs", async () => {
    const seen = `join(import.meta.dirname, "waits.seen")`;
    const waits = `it("waits", async () => { writeFileSync(${seen}, ""); await new Promise((done) => setTimeout(done, 30_000)); });`;
    const one = `it("breaks", async () => {
  while (!existsSync(${seen})) await new Promise((done) => setTimeout(done, 20));
  throw new Error("now");
});`;
    const interrupted = await run({ one, waits }, /✗ tests\/one/);
    expect(interrupted.lines.at(-1)).toMatch(/^0 passed, [1-9] failed/);
    expect(interrupted.status).toBe(1);
    rmSync(join(directory, "tests"), { recursive: true });
    mkdirSync(join(directory, "tests"));
    const nothing = await run({});
    expect(nothing.lines.at(-1)).toBe("0 passed, 1 failed");
    expect(nothing.status).toBe(1);
  });
});
