/**
 * The client whose writes are accounted for: it sends them when they are due, whatever became of earlier ones, follows
 * redirections as cluster clients do, retries nothing else, and journals what it heard.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ReplyError } from "ioredis";
import type { Connection } from "../../valkey/connection";
import { errorPrefix, parseRedirect } from "../../valkey/error-replies";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { Failure, messageOf } from "../../lib/errors";
import { countSlots, SLOT_COUNT } from "../../valkey/topology/slots";
import type { SlotRange } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";
import type { KeyContent } from "./accounting";
import type { WriteLoad } from "../plan/fault";
import type { WriteErrorCode, WriteOutcome } from "./write-history";
import {
  CONNECTION_LOST,
  WriteHistory,
  NOT_REPLICATED,
  OVERLOADED,
  CONNECTION_REFUSED,
  TIMEOUT,
} from "./write-history";
import type { Dialer } from "./connection-pool";
import { ConnectionPool } from "./connection-pool";
import { numberedValue, writeNumberOf } from "./numbered-values";
import { RoutingTable } from "./routing-table";

/** Slots of each shard that are written to, over all of its ranges. */
const SLOTS_PER_SHARD = 16;
/** Coprime to most numbers of shards, so that every shard has its share. */
const AGAIN_EVERY = 11;
/** As cluster clients have it. */
const MOST_REDIRECTS = 16;
const TRY_AGAIN_MS = 10;
const TICK_MS = 2;
/** Connections to each node when writes wait for replicas there. */
const WAITING_LANES = 8;
/** Keys read at once. */
const READ_AT_ONCE = 200;
const READ_ATTEMPTS = 20;

interface Key {
  readonly name: string;
  readonly slot: number;
  readonly shard: number;
  /** Whether it is written more than once: those show what has become older. */
  readonly again: boolean;
  /** Of its last write. */
  number: number;
}

/** What is written to, and how it is reached. */
export interface WriteClientTarget {
  readonly mode: Deployment["mode"];
  /** Slots of each shard; one without any in replication mode. */
  readonly shards: readonly (readonly SlotRange[])[];
  /** The nodes there are at the time. */
  readonly nodes: () => readonly DeploymentNode[];
  readonly dial: Dialer;
}

export class WriteClient {
  readonly history = new WriteHistory();
  readonly #routes: RoutingTable;
  readonly #links: ConnectionPool;
  /** Connections to each node. */
  readonly #lanes: number;
  /** Keys of each shard that are written again, without a write under way. */
  readonly #idle: Key[][];
  #sent = 0;
  readonly #keys = new Map<string, Key>();
  readonly #slots: readonly (readonly number[])[];
  readonly #underWay = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #pacing: Promise<void> | undefined;

  /** @param prefix of all keys; no other client writes such */
  constructor(
    private readonly target: WriteClientTarget,
    private readonly load: WriteLoad,
    private readonly prefix: string,
  ) {
    this.#routes = new RoutingTable(target.mode, target.nodes, target.dial);
    this.#lanes = load.acknowledgement.replicas > 0 ? WAITING_LANES : 1;
    this.#links = new ConnectionPool(target.dial, this.#lanes);
    this.#idle = target.shards.map(() => []);
    this.#slots = target.shards.map((ranges) =>
      target.mode === "cluster" ? spreadSlots(ranges, SLOTS_PER_SHARD) : [0],
    );
  }

  get shardCount(): number {
    return this.#idle.length;
  }

  async start(): Promise<void> {
    await this.#routes.open();
    // Connections first: what it takes to make them is no latency of the deployment's.
    const owners = this.#slots.flatMap((slots) => this.#routes.owner(slots[0] ?? 0) ?? []);
    await Promise.allSettled(
      owners.flatMap((owner) => Array.from({ length: this.#lanes }, () => this.#links.connectionTo(owner))),
    );
    this.#pacing = this.#pace();
  }

  /** Sends nothing more, and returns when every write is over. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#pacing;
    await Promise.all(this.#underWay);
  }

  /** What every key that was ever written to holds, wherever it is now. */
  async readBack(): Promise<Map<string, KeyContent>> {
    const found = new Map<string, KeyContent>();
    const keys = [...this.#keys.values()];
    for (let start = 0; start < keys.length; start += READ_AT_ONCE) {
      await Promise.all(
        keys.slice(start, start + READ_AT_ONCE).map(async (key) => found.set(key.name, await this.#read(key))),
      );
    }
    return found;
  }

  close(): void {
    this.#stopped.abort();
    this.#routes.close();
    this.#links.close();
  }

  async #pace(): Promise<void> {
    const { signal } = this.#stopped;
    const everyMs = 1000 / this.load.rate;
    const began = performance.now();
    for (let next = 0; !signal.aborted;) {
      for (const now = performance.now(); began + next * everyMs <= now; next++)
        this.#send(next % this.#idle.length, began + next * everyMs);
      await sleep(TICK_MS);
    }
  }

  #send(shard: number, dueMs: number): void {
    const mostUnderWay =
      Math.ceil((this.load.rate * (this.load.timeoutMs + this.load.acknowledgement.timeoutMs)) / 1000) * 2 + 100;
    const key = this.#nextKey(shard);
    key.number++;
    const over = (outcome: WriteOutcome, redirects: number): void => {
      this.history.add({
        key: key.name,
        number: key.number,
        shard,
        dueMs,
        endedMs: performance.now(),
        redirects,
        outcome,
      });
      // What an unknown write has overwritten, or will, cannot be told: nothing more is written to its key.
      if (outcome.kind !== "unknown" && key.again) this.#idle[shard]?.push(key);
    };
    if (this.#underWay.size >= mostUnderWay) {
      over({ kind: "failed", error: OVERLOADED }, 0);
      return;
    }
    const write = this.#write(key).then(({ outcome, redirects }) => {
      over(outcome, redirects);
      if (outcome.kind !== "acknowledged") this.#routes.refreshSoon();
      this.#underWay.delete(write);
    });
    this.#underWay.add(write);
  }

  /** Nearly all writes are to keys of their own, for a later write to the same key would hide that one was lost. */
  #nextKey(shard: number): Key {
    const again = ++this.#sent % AGAIN_EVERY === 0;
    return (again ? this.#idle[shard]?.shift() : undefined) ?? this.#newKey(shard, again);
  }

  #newKey(shard: number, again: boolean): Key {
    const slots = this.#slots[shard] ?? [0];
    const slot = slots[this.#keys.size % slots.length] ?? 0;
    const tag = this.target.mode === "cluster" ? `{${slotTags()[slot] ?? ""}}` : "";
    const key = { name: `${this.prefix}${tag}:${this.#keys.size}`, slot, shard, again, number: 0 };
    this.#keys.set(key.name, key);
    return key;
  }

  async #write(key: Key): Promise<{ outcome: WriteOutcome; redirects: number }> {
    const value = numberedValue(key.name, key.number, this.load.bytes);
    let to = this.#routes.owner(key.slot);
    let asking = false;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      if (to === undefined) return { outcome: { kind: "failed", error: CONNECTION_REFUSED }, redirects };
      let connection: Connection;
      try {
        connection = await this.#links.connectionTo(to);
      } catch {
        return { outcome: { kind: "failed", error: CONNECTION_REFUSED }, redirects };
      }
      try {
        return { outcome: await this.#set(connection, key.name, value, asking), redirects };
      } catch (error) {
        const next = await this.#afterError(error, key, to);
        if ("kind" in next) return { outcome: next, redirects };
        ({ to, asking } = next);
      }
    }
    return { outcome: { kind: "failed", error: "too-many-redirections" }, redirects: MOST_REDIRECTS };
  }

  async #set(connection: Connection, key: string, value: string, asking: boolean): Promise<WriteOutcome> {
    const { replicas, timeoutMs } = this.load.acknowledgement;
    const asked = asking ? connection.call("ASKING") : undefined;
    const set = connection.set(key, value);
    const waited = replicas > 0 ? connection.call("WAIT", replicas, timeoutMs) : undefined;
    waited?.catch(() => undefined);
    asked?.catch(() => undefined);
    await set;
    if (waited === undefined) return { kind: "acknowledged" };
    try {
      return Number(await waited) >= replicas ? { kind: "acknowledged" } : { kind: "unknown", error: NOT_REPLICATED };
    } catch (error) {
      // The primary took it, and nobody promised more.
      return { kind: "unknown", error: isReply(error) ? errorPrefix(error.message) : lostAnswer(error) };
    }
  }

  /** Where to send it next, or what became of it. */
  async #afterError(
    error: unknown,
    key: Key,
    from: Endpoint,
  ): Promise<WriteOutcome | { to: Endpoint | undefined; asking: boolean }> {
    if (!isReply(error)) return { kind: "unknown", error: lostAnswer(error) };
    const redirect = parseRedirect(messageOf(error), from);
    switch (redirect?.kind) {
      case "MOVED":
      case "REDIRECT":
        this.#routes.recordMove(key.slot, redirect.endpoint);
        return { to: redirect.endpoint, asking: false };
      case "ASK":
        return { to: redirect.endpoint, asking: true };
      case "TRYAGAIN":
        await sleep(TRY_AGAIN_MS);
        return { to: from, asking: false };
      case undefined:
        return { kind: "failed", error: errorPrefix(error.message) };
    }
  }

  async #read(key: Key): Promise<KeyContent> {
    let why = "nobody serves it";
    let to = this.#routes.owner(key.slot);
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      try {
        if (to === undefined) throw new Failure("nobody serves it");
        const connection = await this.#links.connectionTo(to);
        const value = await connection.get(key.name);
        if (value === null) return { kind: "gone" };
        const number = writeNumberOf(key.name, value);
        return number === undefined ? { kind: "damaged" } : { kind: "number", number };
      } catch (error) {
        why = messageOf(error);
        const redirect = to === undefined ? undefined : parseRedirect(why, to);
        if (redirect?.kind === "MOVED") to = redirect.endpoint;
        else {
          this.#routes.refreshSoon();
          await sleep(100);
          to = this.#routes.owner(key.slot);
        }
      }
    }
    return { kind: "unread", why };
  }
}

/** A server's own word, which is certain. */
function isReply(error: unknown): error is Error {
  return error instanceof ReplyError;
}

function lostAnswer(error: unknown): WriteErrorCode {
  return /timed out/i.test(messageOf(error)) ? TIMEOUT : CONNECTION_LOST;
}

/** So many slots, evenly over ranges. */
export function spreadSlots(ranges: readonly SlotRange[], wanted: number): number[] {
  const total = countSlots(ranges);
  const count = Math.min(wanted, total, SLOT_COUNT);
  const nth = (index: number): number => {
    let left = index;
    for (const { from, to } of ranges) {
      if (left <= to - from) return from + left;
      left -= to - from + 1;
    }
    return ranges[0]?.from ?? 0;
  };
  return Array.from({ length: count }, (_, index) => nth(Math.floor((index * total) / count)));
}
