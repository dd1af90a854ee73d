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

/** @param files bodies by name, to which what they use of vitest is imported */
async function run(
  files: Record<string, string>,
): Promise<{ status: number | null; lines: string[]; failed: string[]; skipped: string[] }> {
  for (const [name, body] of Object.entries(files))
    writeFileSync(
      join(directory, "tests", `${name}.test.ts`),
      `import { beforeAll, afterAll, describe, expect, it } from "vitest";\n${body}\n`,
    );
  // Of the run that this test is part of, nothing may be taken over.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^VITEST|^VALKEY_TEST|^NODE_OPTIONS$/.test(name)),
  );
  const child = spawn(process.execPath, ["--import", "tsx", join(ROOT, "tests", "run.ts"), "--root", directory], {
    cwd: ROOT,
    env: { ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const lines = (await text(child.stdout)).trimEnd().split("\n");
  const titles = (heading: string): string[] => {
    const from = lines.lastIndexOf(heading) + 1;
    return from === 0
      ? []
      : lines
          .slice(from, lines.indexOf("", from))
          .filter((line) => /^ {2}\S/.test(line))
          .map((line) => line.trim());
  };
  return { status: await ended, lines, failed: titles("Failed:"), skipped: titles("Skipped on this machine:") };
}

describe("npm test", () => {
  it("passes when all do that are not skipped, and names those", async () => {
    const { status, lines, failed, skipped } = await run({
      one: `it("holds", () => {});\nit.skip("is left out", () => {});\nit("cannot be", ({ skip }) => { skip("no such thing here"); });`,
    });
    expect(lines.at(-1)).toBe("1 passed, 0 failed, 2 skipped");
    expect(failed).toEqual([]);
    expect(skipped).toEqual(["is left out", "cannot be (skipped: no such thing here)"]);
    expect(status).toBe(0);
  });

  it.each<[string, string, string, RegExp, string]>([
    [
      "a test",
      `it("breaks", () => { expect(1).toBe(2); });`,
      "tests/one.test.ts: breaks",
      /expected 1 to be 2/,
      "1 passed, 1 failed",
    ],
    [
      "a hook before tests, which are not skipped then",
      `describe("suite", () => { beforeAll(() => { throw new Error("no ground"); }); it("stands on it", () => {}); });`,
      "tests/one.test.ts: suite (before or after its tests)",
      /no ground/,
      "1 passed, 1 failed",
    ],
    [
      "a hook after tests",
      `describe("suite", () => { afterAll(() => { throw new Error("left behind"); }); it("works", () => {}); });`,
      "tests/one.test.ts: suite (before or after its tests)",
      /left behind/,
      "2 passed, 1 failed",
    ],
    ["a file that cannot be loaded", `import "./nowhere";`, "tests/one.test.ts", /nowhere/, "1 passed, 1 failed"],
    [
      "what nobody awaits",
      `it("leaves", async () => { void Promise.reject(new Error("unheard")); await new Promise((done) => setTimeout(done, 50)); });`,
      "an error of no test's own",
      /unheard/,
      "2 passed, 1 failed",
    ],
  ])("counts and names as failed %s", async (_what, body, title, message, count) => {
    const { status, lines, failed } = await run({ one: body, other: `it("holds", () => {});` });
    expect(lines.at(-1)).toBe(count);
    expect(failed).toEqual([title]);
    expect(lines.slice(lines.lastIndexOf("Failed:")).join("\n")).toMatch(message);
    expect(status).toBe(1);
  });

  it("fails when the process of a file is gone", async () => {
    const { status, lines, failed } = await run({
      one: `it("falls", () => { process.kill(process.pid, "SIGKILL"); });`,
      other: `it("holds", () => {});`,
    });
    expect(lines.at(-1)).toMatch(/^1 passed, [12] failed$/);
    expect(failed.join("\n")).toMatch(/an error of no test's own|falls/);
    expect(status).toBe(1);
  });

  it("fails when nothing is run", async () => {
    const { status, lines } = await run({});
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
    expect(status).toBe(1);
  });
});
