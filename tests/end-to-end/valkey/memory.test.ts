/** The division of a memory limit beside the memory that real servers take. */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { Failure } from "../../../lib/errors";
import type { Connection } from "../../../valkey/connection";
import { withinMemory } from "../../../valkey/planning/memory-plan";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { Sandbox } from "../../support/valkey/real";

const LIMIT = 96 * 2 ** 20;
const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const VALUE = "x".repeat(1000);
const BATCH = 500;

let sandbox: Sandbox | undefined;
afterEach(async () => {
  await sandbox?.close();
});

/** The memory of a process and its children that nobody shares, bytes; 0 for a process that has ended. */
function memoryOf(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    const [, kib = "0"] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
    return Number(kib) * 1024 + children.reduce((sum, child) => sum + memoryOf(child), 0);
  } catch {
    return 0;
  }
}

async function pidOf(connection: Connection): Promise<number> {
  return infoNumber(parseInfo(await connection.info("server")), "process_id") ?? 0;
}

async function write(connection: Connection, keys: number): Promise<number> {
  const pipeline = connection.pipeline();
  for (let each = 0; each < BATCH; each++) pipeline.set(`key:${Math.floor(Math.random() * keys)}`, VALUE);
  const replies = (await pipeline.exec()) ?? [];
  return replies.filter(([error]) => error !== null).length;
}

describe.skipIf(!existsSync("/proc/self/smaps_rollup"))("a memory limit", () => {
  it.each(["noeviction", "allkeys-lru"] as const)(
    "holds a server that is filled to the brim while it saves and synchronizes fully, with %s",
    async (policy) => {
      const settings = { save: "3600 1", "maxmemory-policy": policy };
      const limited = withinMemory({ limitBytes: LIMIT, mode: "replication", shape: SHAPE, settings });
      const { maxmemory = 0 } = limited;
      sandbox = await Sandbox.open();
      const deployment = await sandbox.formedReplication("full", 1, {
        ...limited,
      });
      const [primaryNode, replicaNode] = deployment.nodes;
      if (primaryNode === undefined || replicaNode === undefined) throw new Failure("no nodes");
      const [primary, replica] = await Promise.all([deployment.connect(primaryNode), deployment.connect(replicaNode)]);
      const pids = await Promise.all([primary, replica].map(pidOf));
      const peaks = pids.map(() => 0);
      const keys = Math.ceil((maxmemory / VALUE.length) * 1.5);
      let refused = 0;
      let rounds = 0;
      try {
        while (refused === 0 && rounds++ < (1.5 * keys) / BATCH) refused += await write(primary, keys);
        await replica.replicaof("NO", "ONE");
        await replica.replicaof(primaryNode.endpoint.host, primaryNode.endpoint.port);
        const ends = performance.now() + 1500;
        while (performance.now() < ends) {
          await primary.bgsave().catch(() => undefined);
          refused += await write(primary, keys);
          for (const [index, pid] of pids.entries()) peaks[index] = Math.max(peaks[index] ?? 0, memoryOf(pid));
          await sleep(5);
        }
        const used = infoNumber(parseInfo(await primary.info("memory")), "used_memory") ?? 0;
        expect(used).toBeGreaterThan(0.95 * maxmemory);
        expect(refused > 0).toBe(policy === "noeviction");
        for (const peak of peaks) expect(peak).toBeLessThan(LIMIT);
        // A replica that did not keep up was cut off; without writes it links.
        await expect.poll(() => replica.info("replication"), { timeout: 20_000 }).toContain("master_link_status:up");
      } finally {
        primary.disconnect();
        replica.disconnect();
      }
    },
  );
});
