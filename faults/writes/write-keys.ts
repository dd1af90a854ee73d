import type { Mode } from "../../valkey/node";
import { type SlotRange, countSlots, SLOT_COUNT } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";

const SLOTS_PER_SHARD = 16;
/** Every so many writes, to an old key. No divisor of most numbers of shards: every shard gets some. */
const REWRITE_EVERY = 11;

export interface WriteKey {
  readonly name: string;
  readonly slot: number;
  readonly shard: number;
  /** Such keys show whether an older value has replaced a newer value. */
  readonly isRewritten: boolean;
  /** The writes to one key are numbered from 1. */
  number: number;
}

export class WriteKeys {
  readonly #keys = new Map<string, WriteKey>();
  readonly #idle: WriteKey[][];
  readonly #slots: readonly (readonly number[])[];
  #chosen = 0;

  constructor(
    private readonly mode: Mode,
    shards: readonly (readonly SlotRange[])[],
    private readonly prefix: string,
  ) {
    this.#idle = shards.map(() => []);
    this.#slots = shards.map((ranges) => (mode === "cluster" ? spreadSlots(ranges, SLOTS_PER_SHARD) : [0]));
  }

  get shardCount(): number {
    return this.#slots.length;
  }

  get all(): readonly WriteKey[] {
    return [...this.#keys.values()];
  }

  get slotOfEachShard(): readonly number[] {
    return this.#slots.map(([first = 0]) => first);
  }

  /** Mostly a new key, because a later write to the same key would hide a lost write. */
  next(shard: number): WriteKey {
    const isRewritten = ++this.#chosen % REWRITE_EVERY === 0;
    const idle = isRewritten ? this.#idle[shard]?.shift() : undefined;
    const key = idle ?? this.#create(shard, isRewritten);
    key.number++;
    return key;
  }

  /** Allows further writes to a key whose last write has ended with a known outcome. */
  release(key: WriteKey): void {
    if (key.isRewritten) this.#idle[key.shard]?.push(key);
  }

  #create(shard: number, isRewritten: boolean): WriteKey {
    const slots = this.#slots[shard] ?? [0];
    const slot = slots[this.#keys.size % slots.length] ?? 0;
    const tag = this.mode === "cluster" ? `{${slotTags()[slot] ?? ""}}` : "";
    const key = { name: `${this.prefix}${tag}:${this.#keys.size}`, slot, shard, isRewritten, number: 0 };
    this.#keys.set(key.name, key);
    return key;
  }
}

function spreadSlots(ranges: readonly SlotRange[], wanted: number): number[] {
  const total = countSlots(ranges);
  const count = Math.min(wanted, total, SLOT_COUNT);
  return Array.from({ length: count }, (_, index) => nthSlot(ranges, Math.floor((index * total) / count)));
}

function nthSlot(ranges: readonly SlotRange[], index: number): number {
  let remaining = index;
  for (const { from, to } of ranges) {
    if (remaining <= to - from) return from + remaining;
    remaining -= to - from + 1;
  }
  return ranges[0]?.from ?? 0;
}
