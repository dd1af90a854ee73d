import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replaceFile } from "../../../lib/system/replace-file";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

describe("a file that is replaced", () => {
  it("is still read as it was by a process that has opened it before", () => {
    const file = join(directory.path, "program.cjs");
    writeFileSync(file, "the former text");
    const opened = openSync(file, "r");
    replaceFile(file, "the new text");
    try {
      expect(readFileSync(opened, "utf8")).toBe("the former text");
    } finally {
      closeSync(opened);
    }
    expect(readFileSync(file, "utf8")).toBe("the new text");
    expect(readdirSync(directory.path)).toEqual(["program.cjs"]);
  });
});
