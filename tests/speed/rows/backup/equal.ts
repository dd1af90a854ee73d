/** Random data sets that are archived while they are written, and restored into different shapes. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import calculateSlot from "cluster-key-slot";
import { epochMs } from "../../../../lib/clock";
import { Failure, messageOf } from "../../../../lib/errors";
import { copySets } from "../../../../valkey/archive/bucket/local-sets";
import type { Connection } from "../../../../valkey/connection";
import type { Deployment } from "../../../../valkey/deployment";
import { form } from "../../../../valkey/formation/form";
import type { SlotRange } from "../../../../valkey/topology/slots";
import { verifyUntilPass } from "../../../../valkey/verification/verify";
import type { Caller } from "../../../support/valkey/data-set";
import { numbers, writeDataSet } from "../../../support/valkey/data-set";
import { programsOf } from "../../../support/valkey/server-process";
import type { Benchmark, BenchmarkContext } from "../../benchmark";
import { atLeast, singleRow } from "../../row";
import type { BenchServers } from "../../workbench";
import { hostPlan } from "../../workbench";
import { BucketProcess } from "./bucket-process";
import { differencesBetween, readByCommands } from "./data-by-commands";
import { restoreInto, shapeOf } from "./restored";
import { RunningArchive, restoreOf } from "./running-archive";

const ID = "backup-equal";
const DATA_SETS = 30;
const SHARDS = [1, 3, 4, 6] as const;
const ARCHIVED_VERSIONS = ["Valkey 8.1", "Valkey 9.1"] as const;
/** Keys of a data set: before the archive begins, and while it takes the bases and follows. */
const KEYS = 150;
const COMMON_MS = 2_000;
/** Longest wait until a cluster serves, milliseconds. */
const SETTLING_MS = 60_000;
/** Databases in which data sets have keys. */
const DATABASES = [0, 3] as const;

export const backupEqual: Benchmark = {
  title: "Random data sets, archived while they are written and restored into different shapes",
  ids: [ID],
  run: async (context) => {
    const { workbench, report } = context;
    let [equal, keys] = [0, 0];
    await workbench.withServers([], async ({ host }) => {
      const bucket = await BucketProcess.start(join(host.run.path, "s3"));
      try {
        for (const [index, each] of cases().entries()) {
          const found = await restoreOne(index, each, bucket, context).catch((error: unknown) => {
            workbench.signal.throwIfAborted();
            return { keys: 0, differences: [messageOf(error)] };
          });
          keys += found.keys;
          if (found.differences.length === 0) equal++;
          const outcome = found.differences.length === 0 ? `${found.keys} keys equal` : found.differences.join("; ");
          report(`${index + 1}: ${each.version}, ${each.from} → ${each.to} shards: ${outcome}`);
        }
      } finally {
        await bucket.close();
      }
    });
    const what =
      `random data sets of all types (${keys} keys), shards ${SHARDS.join(", ")} × ${SHARDS.join(", ")}, ` +
      `${ARCHIVED_VERSIONS.join(" and ")} → Valkey 9.1, through a bucket: of ${DATA_SETS} those that are equal by the ` +
      "project's comparison and by DEBUG DIGEST-VALUE, PEXPIRETIME, HPEXPIRETIME, XINFO and FUNCTION LIST";
    context.emit(singleRow({ id: ID, what, unit: "sets" }, equal, atLeast(DATA_SETS)));
  },
};

interface Case {
  readonly version: (typeof ARCHIVED_VERSIONS)[number];
  readonly from: number;
  readonly to: number;
}

/** Pairs of shapes in turn: all 16 pairs occur, and each version has each pair once before one has a pair twice. */
export function cases(): Case[] {
  const pairs = SHARDS.flatMap((from) => SHARDS.map((to) => ({ from, to })));
  return Array.from({ length: DATA_SETS }, (_, index) => {
    const version = ARCHIVED_VERSIONS[(index + Math.floor(index / pairs.length)) % ARCHIVED_VERSIONS.length];
    return { ...(pairs[index % pairs.length] ?? { from: 1, to: 1 }), version: version ?? "Valkey 9.1" };
  });
}

interface Found {
  readonly keys: number;
  /** Differences in words. The list is empty if everything is equal. */
  readonly differences: readonly string[];
}

async function restoreOne(
  index: number,
  { version, from, to }: Case,
  bucket: BucketProcess,
  { workbench }: BenchmarkContext,
): Promise<Found> {
  const programs = await programsOf(version);
  if (programs === undefined) throw new Error(`${version} cannot be had here`);
  const isCluster = from > 1;
  const hasDatabases = !isCluster || version === "Valkey 9.1";
  const base = hostPlan(`set-${index}`, isCluster ? "cluster" : "replication", {
    primaries: from,
    replicasPerPrimary: 0,
  });
  const settings = {
    ...{ ...base.settings, "repl-diskless-sync-delay": 0, "enable-debug-command": "local" },
    ...(isCluster && hasDatabases ? { "cluster-databases": 4 } : {}),
  };
  const archived = async ({ host, deployments: [source], signal }: BenchServers): Promise<Found> => {
    if (source === undefined) throw new Error("no deployment was started");
    await form(source, base.shape, { signal });
    const place = await bucket.open(`set-${index}`, signal);
    const write = await Writer.open(source, index);
    let archive: RunningArchive | undefined;
    let writtenAt = Infinity;
    try {
      await write.dataSet(1000 + index, KEYS, !hasDatabases);
      archive = await RunningArchive.start(place, source, join(host.run.path, "spool"), signal);
      await write.dataSet(2000 + index, KEYS, !hasDatabases);
      await write.changes();
      await archive.caughtUp(signal);
      await write.dataSet(3000 + index, KEYS, !hasDatabases);
      await write.changes();
      writtenAt = epochMs();
      await archive.caughtUp(signal);
      // All shards have instants during this time, so that they have a time in common.
      await sleep(COMMON_MS);
      await archive.caughtUp(signal);
    } finally {
      write.close();
      await archive?.stop();
    }
    const wanted = await readByCommands(source, DATABASES);
    return workbench.withServers([], async (target) => {
      const options = { signal: target.signal, report: () => undefined };
      const remote = await restoreOf(place);
      const early = writtenAt - Math.min(...remote.shards.map(({ point }) => point.at));
      if (early > 0) throw new Failure(`the last time that can be restored is ${early} ms before the last write`);
      const restore = await copySets(remote, join(target.host.run.path, "sets"), options);
      const restored = await restoreInto(target.host, restore, shapeOf(restore, to), target.signal);
      const compared = await restored.compare();
      const found = await readByCommands(restored.deployment, DATABASES);
      const unequal = compared.flatMap(({ server, comparison: { isEqual, differing } }) =>
        isEqual ? [] : [`${server} differs in ${differing} keys`],
      );
      return { keys: wanted.keys.size, differences: [...unequal, ...differencesBetween(wanted, found)] };
    });
  };
  return workbench.withServers([{ ...base, settings }], archived, programs);
}

/** Writes data sets to a deployment: each command goes to the primary that owns its key. */
class Writer implements Caller {
  readonly #random: () => number;

  private constructor(
    private readonly connections: readonly Connection[],
    /** Slots of each connection's server. */
    private readonly slots: readonly (readonly SlotRange[])[],
    seed: number,
  ) {
    this.#random = numbers(seed);
  }

  static async open(deployment: Deployment, seed: number): Promise<Writer> {
    const { shards } = (await verifyUntilPass(deployment, { settlingMs: SETTLING_MS })).verdict;
    const connections = await Promise.all(deployment.nodes.map((node) => deployment.connect(node)));
    const slots = deployment.nodes.map(({ name }) => shards.find(({ primary }) => primary === name)?.slots ?? []);
    return new Writer(connections, slots, seed);
  }

  close(): void {
    for (const connection of this.connections) connection.disconnect();
  }

  async dataSet(seed: number, count: number, isCluster: boolean): Promise<void> {
    const refused = await writeDataSet(this, seed, count, { isCluster });
    if (refused.includes("SET")) throw new Failure("the servers refuse to write keys");
  }

  /** Deletes keys, changes their TTLs, and changes several keys in transactions. */
  async changes(): Promise<void> {
    for (const connection of this.connections)
      for (const key of await connection.keysBuffer("*")) {
        const lot = this.#random();
        if (lot < 0.1) await connection.unlink(key);
        else if (lot < 0.2) await connection.pexpireat(key, Date.now() + 10 ** 8 + Math.floor(lot * 10 ** 6));
        else if (lot < 0.25) await connection.persist(key);
        else if (lot < 0.3) {
          const transaction = connection.multi().unlink(key);
          await transaction
            .rpush(key, "a", "b")
            .lset(key, 0, "c")
            .pexpire(key, 10 ** 8)
            .exec();
        }
      }
  }

  async call(command: string, args: (string | Buffer)[]): Promise<unknown> {
    if (command === "SELECT" || command === "FUNCTION")
      return Promise.all(this.connections.map((each) => each.call(command, args)));
    const place = command === "XGROUP" ? 1 : command === "XREADGROUP" ? args.indexOf("STREAMS") + 1 : 0;
    const slot = calculateSlot(args[place] ?? "");
    const owner = this.slots.findIndex((ranges) => ranges.some(({ from, to }) => from <= slot && slot <= to));
    return this.connections[Math.max(owner, 0)]?.call(command, args);
  }
}
