import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeEach, describe, expect, it } from "vitest";
import { acquireProcessLock } from "../../../lib/system/output-directory";
import { ROOT } from "../../../lib/system/package";
import { useDirectory } from "../../support/directory";

/** A process that ended long ago. */
const DEAD = JSON.stringify({ pid: 999_999_999, started: "long ago" });

const directory = useDirectory();
let path: string;
beforeEach(() => {
  path = join(directory.path, "study.lock");
});

describe("a process lock", () => {
  it("is held until it is released, and leaves no file", () => {
    const release = acquireProcessLock(path);
    expect(acquireProcessLock(path)).toBeUndefined();
    release?.();
    const again = acquireProcessLock(path);
    expect(again).toBeDefined();
    again?.();
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it.each([
    ["an ended process", DEAD],
    ["no process", "null"],
    ["half an identity", DEAD.slice(0, 9)],
  ])("is taken over from %s, again and again", (_owner, identity) => {
    writeFileSync(`${path}.1`, identity);
    for (let time = 0; time < 2; time++) {
      const release = acquireProcessLock(path);
      expect(acquireProcessLock(path)).toBeUndefined();
      expect(release).toBeDefined();
      release?.();
    }
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it("fails where files cannot be written", () => {
    expect(() => acquireProcessLock(join(directory.path, "missing", "study.lock"))).toThrow(/ENOENT/);
  });

  it("goes to exactly one of many processes that take over a stale lock at the same moment", async () => {
    const contenders = 6;
    const rounds = 60;
    for (let round = 0; round < rounds; round++) {
      mkdirSync(join(directory.path, String(round)));
      writeFileSync(join(directory.path, String(round), "study.lock.1"), DEAD);
    }
    const script = await contender();
    const children = Array.from({ length: contenders }, () =>
      fork(script, [directory.path, String(rounds)], { execArgv: [] }),
    );
    try {
      await Promise.all(children.map((child) => once(child, "message")));
      const wins = children.map(async (child) => (await once(child, "message"))[0] as number[]);
      const start = Date.now() + 100;
      for (const child of children) child.send(start);
      const winners = (await Promise.all(wins)).flat().sort((a, b) => a - b);
      expect(winners).toEqual(Array.from({ length: rounds }, (_, round) => round));
    } finally {
      for (const child of children) child.kill("SIGKILL");
    }
  });
});

/**
 * A script that tries to take the lock of each round at a moment that all contenders know, and reports the rounds it
 * won.
 */
async function contender(): Promise<string> {
  const outfile = join(directory.path, "contender.js");
  const contents = `
    import { join } from "node:path";
    import { acquireProcessLock } from "./lib/system/output-directory";
    const [directory, rounds] = process.argv.slice(2);
    process.on("message", (start) => {
      const won = [];
      for (let round = 0; round < Number(rounds); round++) {
        while (Date.now() < start + round * 10);
        if (acquireProcessLock(join(directory, String(round), "study.lock")) !== undefined) won.push(round);
      }
      process.send(won);
    });
    process.send("ready");`;
  await build({ stdin: { contents, resolveDir: ROOT, loader: "ts" }, bundle: true, platform: "node", outfile });
  return outfile;
}
