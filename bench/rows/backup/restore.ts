/** The command `restore` beside copies of key after key, with a million keys. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { residentPeakBytes } from "../../proc";
import { Failure } from "../../../lib/errors";
import { median } from "../../../lib/statistics/median";
import { formatBytes } from "../../../lib/units";
import { DirectoryStore } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { Place } from "../../../tests/support/command";
import { type Benchmark, type BenchmarkContext, type Workbench, hostPlan, secondsOf } from "../../workbench";
import { sumOf } from "../../fault-driver";
import { type BenchRow, atLeast, atMost, comparedRow, singleRow } from "../../row";
import { RunningArchive, restoreOf, Routes } from "./archives";
import type { Connection } from "../../../valkey/connection";
import { numbers } from "../../../tests/support/valkey/data-set";

const PLAIN = "backup-restore";
const PIPELINED = "backup-restore-pipelined";
const COMPARED = "backup-restore-compared";
const MEMORY = "backup-restore-memory";
const KEYS = 1_000_000;
const ARCHIVED = { primaries: 3, replicasPerPrimary: 0 };
const TARGET = { primaries: 5, replicasPerPrimary: 0 };
const PIPELINE = 64;
/** Keys that the plain script copies. Its whole time is that of all keys at the same rate. */
const PLAIN_KEYS = 200_000;
const REPEATS = 2;
const POLL_MS = 100;
const INSTANTS_MS = 3_000;

interface CommandTimes {
  /** Seconds from the start of the command until the restored servers have passed verification. */
  readonly verified: number;
  readonly compared: number;
  readonly peakBytes: number;
}

export const backupRestore: Benchmark = {
  title: "The command `restore` beside DUMP and RESTORE of key after key",
  ids: [PLAIN, PIPELINED, COMPARED, MEMORY],
  run: async (context) => {
    const { workbench, report } = context;
    const plan = hostPlan("million", "cluster", ARCHIVED, { "repl-diskless-sync-delay": 0 });
    await workbench.withDeployment(plan, async ({ host, deployment: source, signal }) => {
      await form(source, ARCHIVED, { signal });
      await fillMixed(source, KEYS);
      const store = new DirectoryStore(join(host.run.path, "archive"));
      const archive = await RunningArchive.start(store, source, join(host.run.path, "spool"), signal);
      await archive.caughtUp(signal);
      // All shards need an instant after the last base.
      await sleep(INSTANTS_MS);
      await archive.caughtUp(signal);
      await archive.stop();
      const size = (await restoreOf(store)).shards.reduce((sum, { set }) => sum + set.base.size, 0);
      report(`archived ${KEYS} keys in ${formatBytes(size)}`);
      const command: CommandTimes[] = [];
      const pipelined: number[] = [];
      let plain = NaN;
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        command.push(await restoreByCommand(join(host.run.path, "archive"), context));
        pipelined.push(await copyInto(workbench, source, KEYS, PIPELINE));
        report(`DUMP and RESTORE, ${PIPELINE} keys in a round trip: ${pipelined.at(-1)?.toFixed(1)} s`);
        if (repeat > 0) continue;
        plain = ((await copyInto(workbench, source, PLAIN_KEYS, 1)) * KEYS) / PLAIN_KEYS;
        report(`DUMP and RESTORE, one key after the other: ${plain.toFixed(1)} s`);
      }
      const verified = median(command.map((each) => each.verified));
      const compared = median(command.map((each) => each.compared));
      const peak = Math.max(...command.map(({ peakBytes }) => peakBytes)) / 2 ** 20;
      const what =
        `${KEYS} keys of all types (${formatBytes(size)}) from ${ARCHIVED.primaries} shards into ${TARGET.primaries}: ` +
        "the command `restore` from its start";
      const row = (id: string, text: string, ours: number, reference: number): BenchRow => {
        const head = { id, what: `${what} ${text}; medians of ${REPEATS} interleaved runs`, unit: "s" };
        return comparedRow(head, { ours, reference }, "reference/ours", atLeast(3));
      };
      const one = "beside DUMP and RESTORE of one key after the other";
      const plainly = `until verification passes, ${one} into servers that run (of ${PLAIN_KEYS} keys, times ${KEYS / PLAIN_KEYS})`;
      const many = `until verification passes, beside DUMP and RESTORE of ${PIPELINE} keys in a round trip`;
      const highest = `${what}: highest resident memory of the command`;
      context.emit(
        row(PLAIN, plainly, verified, plain),
        row(PIPELINED, many, verified, median(pipelined)),
        row(COMPARED, `until every key is compared, ${one}`, compared, plain),
        singleRow({ id: MEMORY, what: highest, unit: "MiB" }, peak, atMost(1024)),
      );
    });
  },
};

async function restoreByCommand(
  folder: string,
  { workbench: { signal }, report }: BenchmarkContext,
): Promise<CommandTimes> {
  const place = new Place();
  try {
    const began = performance.now();
    const seconds = (): number => (performance.now() - began) / 1000;
    const shape = ["--mode", "cluster", "--shards", String(TARGET.primaries)];
    const command = await place.start(["restore", folder, "--into", "local", ...shape, "--check"]);
    let peakBytes = 0;
    const timer = setInterval(() => {
      if (command.child.exitCode === null)
        peakBytes = Math.max(peakBytes, residentPeakBytes(command.child.pid ?? 0) || 0);
    }, POLL_MS);
    const stop = (): void => void command.child.kill("SIGINT");
    signal.addEventListener("abort", stop);
    try {
      await command.printed(/Verify: PASS/);
      const verified = seconds();
      await command.printed(/Compared every key/);
      const compared = seconds();
      const { status, output } = await command.ended;
      if (status !== 0) throw new Failure(`restore ended with status ${status}: ${output}`);
      report(
        `restore: ${verified.toFixed(1)} s until verified, ${compared.toFixed(1)} s with the comparison, ` +
          `${formatBytes(peakBytes)} of memory`,
      );
      return { verified, compared, peakBytes };
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
    }
  } finally {
    await place.close();
  }
}

/** Copies keys into new servers. @returns seconds without the start of the servers */
function copyInto(workbench: Workbench, source: Deployment, keys: number, pipeline: number): Promise<number> {
  return workbench.withDeployment(hostPlan("copied", "cluster", TARGET), async ({ deployment: target, signal }) => {
    await form(target, TARGET, { signal });
    const seconds = await secondsOf(() => copyKeys(source, target, keys, pipeline));
    const sizes = await Routes.use(target, (routes) => Promise.all(routes.connections.map((each) => each.dbsize())));
    const copied = sumOf(sizes, (size) => size);
    if (copied < keys) throw new Failure(`${copied} keys were copied instead of ${keys}`);
    return seconds;
  });
}

const BATCH = 1_000;
const FAR_MS = 10 ** 9;

/** Writes keys of several types: most are strings of 100 bytes, and one in five has a TTL. */
function fillMixed(deployment: Deployment, count: number): Promise<void> {
  const random = numbers(5);
  // A text that the server cannot compress well.
  const text = (length: number): string => {
    let result = "";
    while (result.length < length) result += random().toString(36).slice(2);
    return result.slice(0, length);
  };
  const range = (length: number): number[] => Array.from({ length }, (_, index) => index);
  return Routes.use(deployment, async (routes) => {
    for (let begin = 0; begin < count; begin += BATCH) {
      const pipelines = routes.connections.map((each) => each.pipeline());
      for (let index = begin; index < Math.min(begin + BATCH, count); index++) {
        const key = `key:${index}`;
        const pipeline = pipelines[routes.index(key)];
        const lot = random();
        if (lot < 0.7) pipeline?.set(key, text(100));
        else if (lot < 0.8) pipeline?.hset(key, Object.fromEntries(range(10).map((each) => [`f${each}`, text(20)])));
        else if (lot < 0.9) pipeline?.rpush(key, ...range(10).map(() => text(20)));
        else if (lot < 0.95) pipeline?.sadd(key, ...range(10).map(() => text(12)));
        else pipeline?.zadd(key, ...range(10).flatMap((each) => [each, text(12)]));
        if (random() < 0.2) pipeline?.pexpire(key, FAR_MS);
      }
      await Promise.all(pipelines.map((each) => each.exec()));
    }
  });
}

/** Copies keys until there are so many, as scripts and tools do. @param batch keys in one round trip */
function copyKeys(source: Deployment, target: Deployment, count: number, batch: number): Promise<void> {
  let left = count;
  const copy = async (from: Routes, to: Routes): Promise<void> => {
    for (const connection of from.connections) {
      let cursor = "0";
      do {
        const [next, keys] = await connection.scanBuffer(cursor, "COUNT", BATCH);
        cursor = String(next);
        for (let begin = 0; begin < keys.length && left > 0; begin += batch) {
          const some = keys.slice(begin, begin + Math.min(batch, left));
          await (batch === 1 ? copyOne(connection, some[0] ?? Buffer.alloc(0), to) : copyBatch(connection, some, to));
          left -= some.length;
        }
      } while (cursor !== "0" && left > 0);
    }
  };
  return Routes.use(source, (from) => Routes.use(target, (to) => copy(from, to)));
}

async function copyOne(source: Connection, key: Buffer, target: Routes): Promise<void> {
  const value = await source.dumpBuffer(key);
  const ttl = await source.pttl(key);
  await target.to(key).restore(key, Math.max(ttl, 0), value, "REPLACE");
}

/** Copies several keys: all their DUMP and PTTL are sent at once, and then all their RESTORE. */
async function copyBatch(source: Connection, keys: readonly Buffer[], target: Routes): Promise<void> {
  const asked = source.pipeline();
  for (const key of keys) {
    asked.dumpBuffer(key);
    asked.pttl(key);
  }
  const replies = (await asked.exec()) ?? [];
  const pipelines = target.connections.map((each) => each.pipeline());
  const used = new Set<number>();
  for (const [index, key] of keys.entries()) {
    const owner = target.index(key);
    const value = replies[2 * index]?.[1] as Buffer;
    const ttl = replies[2 * index + 1]?.[1] as number;
    pipelines[owner]?.restore(key, Math.max(ttl, 0), value, "REPLACE");
    used.add(owner);
  }
  await Promise.all(pipelines.filter((_, index) => used.has(index)).map((each) => each.exec()));
}
