/** SETSLOT and MIGRATE, for servers without atomic migration, and for unfinished migrations that SETSLOT began. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../lib/errors";
import { groupBy } from "../../lib/group-by";
import type { Connection } from "../connection";
import { readClusterDatabases } from "../databases";
import type { Member } from "../membership/members";
import type { NodeAccess } from "../node";
import type { MigrationContext, SlotMigration } from "./migration-context";
import { type DatabaseSlot, heldSlots, setSlots, SLOT_BATCH } from "./slot-commands";

/** Several batches at a time are faster, because each SETSLOT waits for replicas and for a write to disk. */
const MAX_LANES = { perSource: 16, all: 64 };
/** Target duration of one MIGRATE, milliseconds. During a MIGRATE, the source executes nothing else. */
const MIGRATE_MS = 20;
const MAX_KEYS = 1000;
/** Time limit for the target's answer to MIGRATE, milliseconds. A large key takes long to load. */
const KEY_TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 5;
/** Part of the error message that a server sends while an atomic import of the slot is in progress. */
const IMPORT_IN_PROGRESS = "Slot import in progress";

interface SlotGroup {
  readonly to: string;
  readonly slots: readonly number[];
}

/**
 * Also completes earlier migrations. If both sides have a key, the one of the slot's owner is kept, because clients
 * read from it.
 * @param pace with `yields`, a source serves clients after each MIGRATE for as long as it took
 * @throws Failure when a server refuses, or, with nothing changed, when a target has fewer databases than its source
 */
export async function migrateKeyByKey(
  migrations: readonly SlotMigration[],
  context: MigrationContext,
  onMigrated: (slots: number) => void,
  { yields }: { readonly yields: boolean } = { yields: false },
): Promise<void> {
  const databases = await readDatabases(migrations, context);
  const stop = new AbortController();
  const bySource = [...groupBy(migrations, ({ from }) => from)];
  const lanes = bySource.flatMap(([source, own]) => {
    const groups = groupSlots(own);
    // The lanes of a source share the queue, and each lane takes the next group from it.
    const queue = groups.values();
    const batch = new KeyBatch(yields);
    const count = Math.min(MAX_LANES.perSource, Math.ceil(MAX_LANES.all / bySource.length), groups.length);
    return Array.from({ length: count }, async () => {
      const lane = await Lane.open(context.member(source), databases.get(source) ?? 1, context, batch);
      try {
        for (const { to, slots } of queue) {
          context.signal?.throwIfAborted();
          if (stop.signal.aborted) return;
          await lane.migrate(slots, context.member(to));
          onMigrated(slots.length);
        }
      } catch (error) {
        stop.abort();
        throw error;
      } finally {
        lane.close();
      }
    });
  });
  const ended = await Promise.allSettled(lanes);
  const failed = ended.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** @throws Failure that names the targets with fewer databases than their sources. */
async function readDatabases(
  migrations: readonly SlotMigration[],
  { member }: MigrationContext,
): Promise<ReadonlyMap<string, number>> {
  const names = [...new Set(migrations.flatMap(({ from, to }) => [from, to]))];
  const counts = await Promise.all(names.map((name) => readClusterDatabases(member(name).connection)));
  const countOf = new Map(names.map((name, index) => [name, counts[index] ?? 1]));
  const count = (name: string): number => countOf.get(name) ?? 1;
  const problems = migrations
    .filter(({ from, to }) => count(from) > count(to))
    .map(({ from, to }) => `${from} has ${count(from)} databases (cluster-databases), but ${to} has ${count(to)}`);
  if (problems.length === 0) return countOf;
  throw new Failure(`slots cannot be migrated key by key: ${[...new Set(problems)].join("; ")}`);
}

function groupSlots(migrations: readonly SlotMigration[]): SlotGroup[] {
  return [...groupBy(migrations, ({ to }) => to)].flatMap(([to, own]) => {
    const slots = own.map(({ slot }) => slot);
    return Array.from({ length: Math.ceil(slots.length / SLOT_BATCH) }, (_, index) => ({
      to,
      slots: slots.slice(index * SLOT_BATCH, (index + 1) * SLOT_BATCH),
    }));
  });
}

/** The number of keys is adjusted to MIGRATE_MS. One command at a time, or the measured time would include waiting. */
class KeyBatch {
  size = 10;
  #pending: Promise<unknown> = Promise.resolve();

  constructor(private readonly yields: boolean) {}

  async send(migrate: () => Promise<unknown>): Promise<void> {
    const sent = this.#pending.then(async () => {
      const began = performance.now();
      await migrate();
      return performance.now() - began;
    });
    this.#pending = sent.then(
      (milliseconds) => (this.yields ? sleep(milliseconds) : undefined),
      () => undefined,
    );
    const milliseconds = await sent;
    if (milliseconds > MIGRATE_MS) this.size = Math.max(1, Math.floor(this.size / 2));
    else if (milliseconds < MIGRATE_MS / 4) this.size = Math.min(MAX_KEYS, this.size * 2);
  }
}

interface MigrationTarget {
  readonly connection: Connection;
  readonly host: string;
  readonly port: number;
}

/** Has its own connections to the source and to each target. */
class Lane {
  readonly #targets = new Map<string, MigrationTarget>();

  private constructor(
    private readonly source: Member,
    private readonly connection: Connection,
    private readonly databases: number,
    private readonly context: MigrationContext,
    private readonly batch: KeyBatch,
  ) {}

  static async open(source: Member, databases: number, context: MigrationContext, batch: KeyBatch): Promise<Lane> {
    return new Lane(source, await connectPatiently(source, context), databases, context, batch);
  }

  close(): void {
    this.connection.disconnect();
    for (const { connection } of this.#targets.values()) connection.disconnect();
  }

  async migrate(slots: readonly number[], to: Member): Promise<void> {
    const target = await this.#target(to);
    try {
      await this.#markImporting(slots, to, target);
      await setSlots(this.connection, slots, "MIGRATING", to.id);
      for (const held of await heldSlots(this.connection, slots, this.databases)) {
        await this.#migrateSlot(held, target);
      }
      // The target is set first. If the source gave up the slots first and failed afterwards, no node would own them.
      await setSlots(target.connection, slots, "NODE", to.id);
      await setSlots(this.connection, slots, "NODE", to.id);
    } catch (error) {
      const where = `${this.source.node.name} to ${to.node.name}`;
      throw new Failure(`slots cannot be migrated from ${where}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** The target refuses until it gives up a failed atomic migration of these slots, which it may learn late. */
  async #markImporting(slots: readonly number[], to: Member, { connection }: MigrationTarget): Promise<void> {
    await this.context.deadline.pollWhileProgressing(async () => {
      try {
        await setSlots(connection, slots, "IMPORTING", this.source.id);
        return undefined;
      } catch (error) {
        if (!messageOf(error).includes(IMPORT_IN_PROGRESS)) throw error;
        return `${to.node.name} still imports slots of ${this.source.node.name} (${messageOf(error)})`;
      }
    });
  }

  async #migrateSlot({ slot, database }: DatabaseSlot, target: MigrationTarget): Promise<void> {
    if (this.databases > 1) await this.connection.select(database);
    for (;;) {
      const wanted = this.batch.size;
      const keys = (await this.connection.callBuffer("CLUSTER", "GETKEYSINSLOT", slot, wanted)) as Buffer[];
      if (keys.length > 0) await this.#migrateKeys(keys, database, target);
      // In a slot that is marked as MIGRATING, the source neither creates keys nor moves keys between databases
      // (TRYAGAIN).
      if (keys.length < wanted) return;
    }
  }

  async #migrateKeys(keys: readonly Buffer[], database: number, { host, port }: MigrationTarget): Promise<void> {
    const options = ["REPLACE", ...credentials(this.context.deployment.access)];
    const words = [host, port, "", database, KEY_TIMEOUT_MS, ...options, "KEYS", ...keys];
    for (let attempt = 1; ; attempt++) {
      try {
        await this.batch.send(() => this.connection.call("MIGRATE", ...words));
        return;
      } catch (error) {
        // The connection between the two servers failed or was too slow. Each key is on the source only, or on both
        // sides.
        if (attempt >= MAX_ATTEMPTS || !messageOf(error).startsWith("IOERR")) throw error;
        this.batch.size = 1;
      }
    }
  }

  async #target(to: Member): Promise<MigrationTarget> {
    const known = this.#targets.get(to.node.name);
    if (known !== undefined) return known;
    // The address of the target comes from the deployment, because the source's view may contain the address for
    // clients.
    const { host, port } = to.node.endpoint;
    const target = { connection: await connectPatiently(to, this.context), host, port };
    this.#targets.set(to.node.name, target);
    return target;
  }
}

/** Opens a connection whose time limit for a command is long enough for large keys. */
async function connectPatiently({ node }: Member, { deployment }: MigrationContext): Promise<Connection> {
  const connection = await deployment.connect(node);
  connection.options.commandTimeout = 2 * KEY_TIMEOUT_MS;
  return connection;
}

function credentials({ username, password }: NodeAccess): string[] {
  if (password === undefined) return [];
  return username === undefined ? ["AUTH", password] : ["AUTH2", username, password];
}
