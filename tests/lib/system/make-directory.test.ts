import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeDirectory } from "../../../lib/system/make-directory";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "make-"));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

describe("makeDirectory", () => {
  it("makes a directory with its parents, and leaves one that exists", () => {
    const path = join(root, "a/b/c");
    makeDirectory(path);
    makeDirectory(path);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it("throws below a file", () => {
    writeFileSync(join(root, "file"), "");
    expect(() => {
      makeDirectory(join(root, "file/a/b"));
    }).toThrow(/ENOTDIR/);
  });

  it.skipIf(!existsSync("/proc/self"))("throws below /proc, where Node's recursive mkdir never returns", () => {
    expect(() => {
      makeDirectory("/proc/valkey/a");
    }).toThrow(/ENOENT|EACCES|EPERM/);
  });
});
