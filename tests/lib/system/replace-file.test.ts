import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { replaceFile } from "../../../lib/system/replace-file";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "replace-file-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe("a file that is replaced", () => {
  it("is still read as it was by a process that has opened it before", () => {
    const file = join(directory, "program.cjs");
    writeFileSync(file, "the former text");
    const opened = openSync(file, "r");
    replaceFile(file, "the new text");
    try {
      expect(readFileSync(opened, "utf8")).toBe("the former text");
    } finally {
      closeSync(opened);
    }
    expect(readFileSync(file, "utf8")).toBe("the new text");
    expect(readdirSync(directory)).toEqual(["program.cjs"]);
  });
});
