import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeDirectory } from "../../../lib/system/make-directory";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

describe("makeDirectory", () => {
  it("makes a directory with its parents, and leaves one that exists", () => {
    const path = join(directory.path, "a/b/c");
    makeDirectory(path);
    makeDirectory(path);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it("throws below a file", () => {
    writeFileSync(join(directory.path, "file"), "");
    expect(() => {
      makeDirectory(join(directory.path, "file/a/b"));
    }).toThrow(/ENOTDIR/);
  });

  it.skipIf(!existsSync("/proc/self"))("throws below /proc, where Node's recursive mkdir never returns", () => {
    expect(() => {
      makeDirectory("/proc/valkey/a");
    }).toThrow(/ENOENT|EACCES|EPERM/);
  });
});
