import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changedFiles, reachedTests } from "./changed";

const FILES: Record<string, string> = {
  "lib/units.ts": "export const KIB = 1024;",
  "valkey/memory.ts": `import { KIB } from "../lib/units";\nexport const PAGE = 4 * KIB;`,
  "cli/main.ts": `import "../valkey/memory";`,
  "scripts/node.sh": "exec valkey-server",
  "README.md": "Words",
  "tests/support/command.ts": `export const PROGRAM = ["node", "cli/main.ts"];`,
  "tests/units.test.ts": `import "../lib/units";`,
  "tests/memory.test.ts": `import "../valkey/memory";`,
  "tests/command.test.ts": `import "./support/command";`,
  "tests/scripts.test.ts": `readdirSync(join(ROOT, "tests/../scripts"));\nconst all = "../scripts";`,
  "tests/other.test.ts": `export {};`,
};
let root: string;
const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" });
const write = (name: string, text: string): void => {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
};
const reached = (...changed: string[]): string[] => reachedTests(root, Object.keys(FILES), changed).sort();

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "changed-"));
  for (const [name, text] of Object.entries(FILES)) write(name, text);
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

describe("a change", () => {
  it("reaches tests through imports, and through programs that support code starts", () => {
    expect(reached("valkey/memory.ts")).toEqual(["tests/command.test.ts", "tests/memory.test.ts"]);
    expect(reached("lib/units.ts")).toEqual(["tests/command.test.ts", "tests/memory.test.ts", "tests/units.test.ts"]);
  });

  it("reaches tests that name the folder of a file, and a test that is changed itself", () => {
    expect(reached("scripts/node.sh")).toEqual(["tests/scripts.test.ts"]);
    expect(reached("tests/other.test.ts")).toEqual(["tests/other.test.ts"]);
  });

  it("reaches every test when no file names what is changed, but for prose", () => {
    expect(reached("package.json")).toHaveLength(5);
    expect(reached("README.md")).toEqual([]);
    expect(reached()).toEqual([]);
  });

  it("is every commit since main, and what is not committed yet", () => {
    git("init", "--quiet", "--initial-branch=main");
    git("config", "user.email", "test@example.org");
    git("config", "user.name", "test");
    git("add", ".");
    git("commit", "--quiet", "-m", "first");
    expect(changedFiles(root)).toEqual([]);
    git("switch", "--quiet", "-c", "work");
    write("lib/units.ts", "export const KIB = 1000;");
    git("commit", "--quiet", "-am", "second");
    write("cli/main.ts", "");
    write("cli/new.ts", "");
    expect(changedFiles(root)).toEqual(["cli/main.ts", "lib/units.ts", "cli/new.ts"]);
  });
});
