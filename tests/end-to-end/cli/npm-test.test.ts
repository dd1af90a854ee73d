/** The command that runs the tests counts what it should: on tests of its own, which fail in every way there is. */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it } from "vitest";
import { useDirectory } from "../../support/directory";
import { ROOT } from "../../../lib/system/package";

const directory = useDirectory();
beforeEach(() => {
  mkdirSync(join(directory.path, "tests"));
  symlinkSync(join(ROOT, "node_modules"), join(directory.path, "node_modules"));
});

interface Run {
  readonly status: number | null;
  readonly lines: readonly string[];
  readonly below: (heading: RegExp) => string[];
}

const FLAKY = (name: string): string => `
it("passes at last: ${name}", () => {
  const seen = join(import.meta.dirname, "${name}.seen");
  if (existsSync(seen)) return;
  writeFileSync(seen, "");
  throw new Error("first error of ${name}\\nand more of it");
});`;

/** @param files bodies by name, to which what they use is imported @param signalAt output at which the signal is sent */
async function run(
  files: Record<string, string>,
  signalAt?: RegExp,
  signal: NodeJS.Signals = "SIGINT",
  variables: NodeJS.ProcessEnv = {},
): Promise<Run> {
  for (const [name, body] of Object.entries(files))
    writeFileSync(
      join(directory.path, "tests", `${name}.test.ts`),
      `import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, afterAll, describe, expect, it } from "vitest";\n${body}\n`,
    );
  writeFileSync(
    join(directory.path, "vitest.config.mjs"),
    `const project = (name, exclude, include) => ({ test: { name, include, exclude } });
const others = ["tests/pure*.test.ts", "tests/kubernetes*.test.ts"];
export default { test: { projects: [
  project("pure", [], [others[0]]), project("kubernetes", [], [others[1]]), project("real", others, ["tests/*.test.ts"]),
] } };`,
  );
  // Nothing may be taken over of the run that this test is part of.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^VITEST|^VALKEY_TEST|^NODE_OPTIONS$/.test(name)),
  );
  const child = spawn(process.execPath, ["--import", "tsx", join(ROOT, "tests", "run.ts"), "--root", directory.path], {
    cwd: ROOT,
    env: { ...env, NO_COLOR: "1", ...variables },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const isEarlier = signalAt?.test(output) !== false;
    output += chunk.toString();
    if (!isEarlier && signalAt.test(output)) child.kill(signal);
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
  it("passes when all tests do that are not skipped, one on real servers at the second try, and tells reasons", async () => {
    const { status, lines, below } = await run({
      flaky: FLAKY("flaky"),
      one: `it("holds", () => {});
it("cannot be", ({ skip }) => { skip("needs a moon"); });
describe.skip("a suite (skipped: needs a moon)", () => { it("a", () => {}); it("b", () => {}); });
it.skip("is left out", () => {});`,
    });
    expect(below(/^Skipped/)).toEqual(["3  needs a moon", "1  no reason given: tests/one.test.ts: is left out"]);
    expect(below(/^Failed:/)).toEqual([]);
    expect(below(/^Flaky.*: 1, /)).toEqual(["flaky: tests/flaky.test.ts: passes at last: flaky"]);
    const told = lines.slice(lines.findIndex((line) => line.startsWith("Flaky"))).join("\n");
    expect(told).toMatch(/: flaky\n {4}Error: first error of flaky\n {4}and more of it\n/);
    expect(lines.join("\n")).toMatch(/✗ tests\/flaky.test.ts: passes at last: flaky\n {2}Error: first error of flaky/);
    expect(lines.at(-1)).toBe("2 passed, 0 failed, 4 skipped");
    expect(status).toBe(0);
  });

  it("counts and names a test, a hook and a file that fail, and a third flaky test", async () => {
    const { status, lines, below } = await run({
      ...{ one: FLAKY("one"), two: FLAKY("two"), three: FLAKY("three") },
      // Tests without servers have no second try.
      "pure-flaky": FLAKY("four"),
      "pure-test": `it("breaks", () => { expect(1).toBe(2); });`,
      // A test that a hook keeps from running is not skipped.
      before: `describe("suite", () => { beforeAll(() => { throw new Error("no ground"); }); it("stands on it", () => {}); });`,
      after: `describe("suite", () => { afterAll(() => { throw new Error("left behind"); }); it("works", () => {}); });`,
      file: `import "./nowhere";`,
      long: `it("says much", () => { throw new Error("much" + "\\nmore".repeat(90)); });`,
      holds: `it("holds", () => {});`,
    });
    expect(below(/^Failed:/).sort()).toEqual([
      "3 flaky tests",
      "tests/after.test.ts: suite (before or after its tests)",
      "tests/before.test.ts: suite (before or after its tests)",
      "tests/file.test.ts",
      "tests/long.test.ts: says much",
      "tests/pure-flaky.test.ts: passes at last: four",
      "tests/pure-test.test.ts: breaks",
    ]);
    const told = lines.slice(lines.lastIndexOf("Failed:")).join("\n");
    for (const message of [/expected 1 to be 2/, /no ground/, /left behind/, /nowhere/]) expect(told).toMatch(message);
    // The end of a log that was cut off within the long error names it, too.
    const repeated = lines.indexOf("  tests/long.test.ts: says much: Error: much");
    expect(lines.slice(repeated).indexOf("  more")).toBeGreaterThan(0);
    expect(lines.at(-1)).toBe("5 passed, 7 failed");
    expect(status).toBe(1);
  });

  it("fails for an error that nobody awaits, and when the process of a file is gone", async () => {
    const { status, lines, below } = await run({
      leaves: `it("leaves", async () => { void Promise.reject(new Error("unheard")); await new Promise((done) => setTimeout(done, 50)); });`,
      falls: `it("falls", () => { process.kill(process.pid, "SIGKILL"); });`,
      holds: `it("holds", () => {});`,
    });
    expect(below(/^Failed:/).join("\n")).toMatch(/an error outside of all tests/);
    expect(lines.join("\n")).toMatch(/unheard/);
    expect(lines.at(-1)).toMatch(/^2 passed, [2-4] failed$/);
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
    rmSync(join(directory.path, "tests"), { recursive: true });
    mkdirSync(join(directory.path, "tests"));
    const nothing = await run({});
    expect(nothing.lines.at(-1)).toBe("0 passed, 1 failed");
    expect(nothing.status).toBe(1);
  });

  it("names what failed until SIGTERM, also in a file that does not end", async () => {
    const { status, lines, below } = await run(
      {
        one: `it("breaks", () => { throw new Error("now"); });
it("never ends", { timeout: 600_000 }, () => new Promise(() => {}));
afterAll(() => new Promise(() => {}), 600_000);`,
      },
      /✗ tests\/one/,
      "SIGTERM",
    );
    expect(below(/^Failed:/)).toEqual(expect.arrayContaining(["tests/one.test.ts: breaks", "the run"]));
    expect(lines).toContain("Failed so far: 2");
    expect(lines.at(-1)).toMatch(/^0 passed, [2-4] failed/);
    expect(status).toBe(1);
  });

  it.each([
    [
      "runs tests on a Kubernetes that starts beside the others",
      "VALKEY_TEST_KUBECONFIG=here\\n",
      "2 passed, 0 failed",
    ],
    ["skips them if it does not start", "", "1 passed, 0 failed, 1 skipped"],
  ])("%s", async (_, variables, count) => {
    const file = join(directory.path, "kubernetes");
    const { lines } = await run(
      {
        starts: `it("starts it", () => { writeFileSync("${file}.new", "${variables}"); renameSync("${file}.new", "${file}"); });`,
        "kubernetes-test": `const found = process.env.VALKEY_TEST_KUBECONFIG;
it("is there", ({ skip }) => { if (found === undefined) skip("needs a Kubernetes"); expect(found).toBe("here"); });`,
      },
      undefined,
      undefined,
      { VALKEY_TEST_KUBERNETES_STARTING: file },
    );
    expect(lines.at(-1)).toBe(count);
  });
});
