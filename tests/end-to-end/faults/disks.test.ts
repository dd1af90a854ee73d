/** File systems that faults mount for servers: real mounts on this machine. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mountDisk, removeSideEffects, unmetDiskPrecondition } from "../../../platforms/host/side-effects";

const obstacle = unmetDiskPrecondition();
const MEBIBYTE = 2 ** 20;

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "disks-"));
});
afterEach(async () => {
  await removeSideEffects(path);
  rmSync(path, { recursive: true });
});

describe("the disk of a server", () => {
  it.skipIf(obstacle !== undefined)(
    `is unmounted although a thread of an ended server still holds it for a moment${obstacle === undefined ? "" : ` (skipped: ${obstacle})`}`,
    async () => {
      const disk = await mountDisk({ id: "test", path }, join(path, "data"), MEBIBYTE);
      const held = openSync(join(disk, "dump.rdb"), "w");
      const removal = removeSideEffects(path);
      await sleep(300);
      closeSync(held);
      await removal;
      expect(readFileSync("/proc/self/mounts", "utf8")).not.toContain(disk);
    },
  );
});
