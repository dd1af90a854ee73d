/**
 * Moving slots key by key (SETSLOT and MIGRATE), for servers without atomic migration and for moves that were begun
 * so. Several slots of a source are under way at once, each over connections of its own: SETSLOT waits for replicas.
 */
import type { Connection } from "../connection";
import type { Access } from "../node";
import { Failure, messageOf } from "../../lib/errors";
import { ViewParser } from "../topology/cluster-view";
import type { Member } from "../formation/members";
import { sendPipeline, setSlots, SLOT_BATCH } from "./slot-commands";
import type { MigrationContext } from "./migration-context";

/** By node name. */
export interface SlotMigration {
  readonly slot: number;
  readonly from: string;
  readonly to: string;
}

/** Ways from one source, and from all, that are used at once: each SETSLOT waits for replicas and for a file to be written, which many share. */
const LANES = { source: 16, all: 64 };
/** Milliseconds that one MIGRATE, during which a source does nothing else, should take. */
const MIGRATE_MS = 20;
const MOST_KEYS = 1000;
/** Milliseconds in which some byte of a key must have gone over; a large one takes long to be taken in. */
const KEY_TIMEOUT_MS = 60_000;
const ATTEMPTS = 5;

/**
 * Moves slots with all their keys, those of different sources at the same time. What a move left half-done finds
 * is completed: a key that is on both sides is taken from the slot's owner, the only one that clients see.
 * @throws Failure when a server refuses
 */
export async function migrateKeyByKey(
  moves: readonly SlotMigration[],
  moving: MigrationContext,
  moved: (slots: number) => void,
): Promise<void> {
  const stop = new AbortController();
  const sources = [...new Set(moves.map(({ from }) => from))];
  const lanes = sources.flatMap((source) => {
    // Shared by a source's lanes, each of which takes the next.
    const groups = groupMoves(moves.filter(({ from }) => from === source));
    const own = groups.values();
    const batch = new Batch();
    const count = Math.min(LANES.source, Math.ceil(LANES.all / sources.length), groups.length);
    return Array.from({ length: count }, async () => {
      const lane = await Lane.open(moving.member(source), moving, batch);
      try {
        for (const { to, slots } of own) {
          moving.signal?.throwIfAborted();
          if (stop.signal.aborted) return;
          await lane.move(slots, moving.member(to));
          moved(slots.length);
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

function groupMoves(moves: readonly SlotMigration[]): { to: string; slots: number[] }[] {
  return [...new Set(moves.map(({ to }) => to))].flatMap((to) => {
    const slots = moves.filter((move) => move.to === to).map(({ slot }) => slot);
    return Array.from({ length: Math.ceil(slots.length / SLOT_BATCH) }, (_, index) => ({
      to,
      slots: slots.slice(index * SLOT_BATCH, (index + 1) * SLOT_BATCH),
    }));
  });
}

/**
 * How many keys go with one MIGRATE of a source: as many as take about the time that clients may be kept waiting.
 * A source does one at a time, so that is how they are sent, or the time would be that of waiting for others.
 */
class Batch {
  size = 10;
  #turn: Promise<unknown> = Promise.resolve();

  async send(migrate: () => Promise<unknown>): Promise<void> {
    const before = this.#turn;
    const sent = before.then(async () => {
      const began = performance.now();
      await migrate();
      return performance.now() - began;
    });
    this.#turn = sent.catch(() => undefined);
    const took = await sent;
    if (took > MIGRATE_MS) this.size = Math.max(1, Math.floor(this.size / 2));
    else if (took < MIGRATE_MS / 4) this.size = Math.min(MOST_KEYS, this.size * 2);
  }
}

/** Where the source reaches a target, on the source's own word, and a connection of ours to it. */
interface Target {
  readonly connection: Connection;
  readonly host: string;
  readonly port: number;
}

/** A connection to a source and one to each of its targets; one slot at a time. */
class Lane {
  readonly #targets = new Map<string, Target>();

  private constructor(
    private readonly source: Member,
    private readonly connection: Connection,
    private readonly moving: MigrationContext,
    private readonly batch: Batch,
  ) {}

  static async open(source: Member, moving: MigrationContext, batch: Batch): Promise<Lane> {
    return new Lane(source, await patient(source, moving), moving, batch);
  }

  close(): void {
    this.connection.disconnect();
    for (const { connection } of this.#targets.values()) connection.disconnect();
  }

  async move(slots: readonly number[], to: Member): Promise<void> {
    const target = await this.#target(to);
    try {
      await setSlots(target.connection, slots, "IMPORTING", this.source.id);
      await setSlots(this.connection, slots, "MIGRATING", to.id);
      const counts = await sendPipeline(
        this.connection,
        slots.map((slot) => ["CLUSTER", "COUNTKEYSINSLOT", slot]),
      );
      for (const [index, slot] of slots.entries()) if (counts[index] !== 0) await this.#moveKeys(slot, target);
      // First where they go: were it the other way round and only half done, nobody would own them.
      await setSlots(target.connection, slots, "NODE", to.id);
      await setSlots(this.connection, slots, "NODE", to.id);
    } catch (error) {
      throw new Failure(`slots of ${this.source.node.name} do not go to ${to.node.name}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async #moveKeys(slot: number, target: Target): Promise<void> {
    for (;;) {
      const wanted = this.batch.size;
      const keys = (await this.connection.callBuffer("CLUSTER", "GETKEYSINSLOT", slot, wanted)) as Buffer[];
      if (keys.length > 0) await this.#migrate(keys, target);
      // A slot that is marked gets no new keys.
      if (keys.length < wanted) return;
    }
  }

  async #migrate(keys: readonly Buffer[], { host, port }: Target): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.batch.send(() =>
          this.connection.call(
            "MIGRATE",
            host,
            port,
            "",
            0,
            KEY_TIMEOUT_MS,
            "REPLACE",
            ...credentials(this.moving.deployment.access),
            "KEYS",
            ...keys,
          ),
        );
        return;
      } catch (error) {
        // The connection between the servers broke or was too slow: the keys are where they were, or on both sides.
        if (attempt >= ATTEMPTS || !messageOf(error).startsWith("IOERR")) throw error;
        this.batch.size = 1;
      }
    }
  }

  async #target(to: Member): Promise<Target> {
    const known = this.#targets.get(to.node.name);
    if (known !== undefined) return known;
    const view = new ViewParser().parse(String(await this.connection.cluster("NODES")));
    const address = view.topology.nodes.get(to.id)?.address;
    if (address === undefined || address.host === "")
      throw new Failure(`${this.source.node.name} does not know where ${to.node.name} is`);
    const target = { connection: await patient(to, this.moving), host: address.host, port: address.port };
    this.#targets.set(to.node.name, target);
    return target;
  }
}

/** A connection that lets a server be busy with a large key. */
async function patient({ node }: Member, { deployment }: MigrationContext): Promise<Connection> {
  const connection = await deployment.connect(node);
  connection.options.commandTimeout = 2 * KEY_TIMEOUT_MS;
  return connection;
}

function credentials({ username, password }: Access): string[] {
  if (password === undefined) return [];
  return username === undefined ? ["AUTH", password] : ["AUTH2", username, password];
}
