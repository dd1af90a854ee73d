import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { BadInput } from "../../../lib/errors";
import { claimOutput, makeDirectory } from "../../../lib/system/output-directory";
import { useDirectory } from "../../support/directory";

const place = useDirectory();
let directory: string;
beforeEach(() => {
  directory = join(place.path, "out");
});

describe("a directory for output", () => {
  it("has one process at a time, and is removed when it stays empty", () => {
    const release = claimOutput(directory, "new");
    for (const use of ["new", "continued"] as const)
      expect(() => claimOutput(directory, use)).toThrow(/another process is writing to it/);
    release();
    expect(existsSync(directory)).toBe(false);
    const again = claimOutput(directory, "new");
    // A second release does not end the claim of somebody else.
    release();
    expect(() => claimOutput(directory, "new")).toThrow(BadInput);
    writeFileSync(join(directory, "results.json"), "{}");
    again();
    expect(readdirSync(directory)).toEqual(["results.json"]);
  });

  it.each(["results.json", "summary.txt", "checkpoints.jsonl", "soak.jsonl", "soak.html", "raw.txt"])(
    "is refused to a new run when it holds %s, and given to the run that continues",
    (name) => {
      mkdirSync(directory);
      writeFileSync(join(directory, name), "theirs");
      expect(() => claimOutput(directory, "new")).toThrow(`holds results already (${name})`);
      claimOutput(directory, "continued")();
      expect(readdirSync(directory)).toEqual([name]);
    },
  );

  it("is taken over from a killed process, and may hold files of others", () => {
    mkdirSync(directory);
    writeFileSync(join(directory, ".run.lock.1"), JSON.stringify({ pid: 1, started: "never" }));
    writeFileSync(join(directory, "nodes.txt"), "theirs");
    claimOutput(directory, "new")();
    expect(readdirSync(directory)).toEqual(["nodes.txt"]);
  });
});

describe("makeDirectory", () => {
  it("makes a directory with its parents, and leaves one that exists", () => {
    const path = join(place.path, "a/b/c");
    makeDirectory(path);
    makeDirectory(path);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it("throws below a file", () => {
    writeFileSync(join(place.path, "file"), "");
    expect(() => {
      makeDirectory(join(place.path, "file/a/b"));
    }).toThrow(/ENOTDIR/);
  });

  it.skipIf(!existsSync("/proc/self"))("throws below /proc, where Node's recursive mkdir never returns", () => {
    expect(() => {
      makeDirectory("/proc/valkey/a");
    }).toThrow(/ENOENT|EACCES|EPERM/);
  });
});
