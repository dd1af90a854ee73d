import { slotTags } from "../../../../valkey/topology/slot-tags";
/** What is sent: operations one after the other, by the keys, sizes and shares of a mixed workload. Pure from a seed. */
import { keyNumber, keysPerInfix, zsetMember } from "../../../workloads/key-space";
import type { DataKind, KeyDistribution, ValueSizes } from "../../../workloads/mixed-workload";
import { KEY_FAMILIES, ZSET_MEMBERS } from "../../../workloads/mixed-workload";
import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import { keySampler } from "./keys";
import type { Random } from "../../../../lib/statistics/random";
import { encodeCommand } from "../connections/resp";
import { largestValueSize, sizeSampler } from "./values";

/** One request. */
export interface Operation {
  readonly kind: "read" | "write";
  /** The slot of its key; 0 where there are no slots. */
  readonly slot: number;
  /** As it goes over the wire, a character per byte. */
  readonly command: string;
}

/** Asked for the next operation at each intended time, in their order. */
export interface OperationSource<O extends Operation = Operation> {
  next(): O;
}

export interface MixedOperationOptions {
  readonly data: DataKind;
  readonly reads: number;
  readonly keySpace: number;
  readonly keys: KeyDistribution;
  readonly values: ValueSizes;
  /** Whether keys carry the tags of slots. */
  readonly isCluster: boolean;
}

/** Bytes that values are cut from: none the same as its neighbour, so that nothing is made smaller on the way. */
function payload(bytes: number, random: Random): string {
  const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  let block = "";
  for (let i = 0; i < Math.min(bytes, 4096); i++) block += LETTERS[random.below(LETTERS.length)] ?? "";
  return block.repeat(Math.ceil(bytes / Math.max(1, block.length))).slice(0, bytes);
}

/** Written once and kept. */
const NUMBERS = 65_536;

export class MixedOperationSource implements OperationSource {
  readonly #keys: ReturnType<typeof keySampler>;
  readonly #sizes: ReturnType<typeof sizeSampler>;
  readonly #payload: string;
  /** Of keys, by slot. */
  readonly #prefixes: readonly string[];
  /** The lowest numbers as keys have them, for writing one takes time. */
  readonly #numbers: readonly string[];

  constructor(
    private readonly shape: MixedOperationOptions,
    private readonly random: Random,
  ) {
    this.#keys = keySampler(shape.keys, shape.keySpace, random);
    this.#sizes = sizeSampler(shape.values, random);
    this.#payload = payload(largestValueSize(shape.values), random);
    const family = KEY_FAMILIES[shape.data];
    this.#prefixes = shape.isCluster ? slotTags().map((tag) => `${family}:{${tag.padEnd(3, "}")}}:`) : [`${family}:`];
    this.#numbers = Array.from(
      { length: Math.min(NUMBERS, keysPerInfix(shape.keySpace, shape.isCluster)) },
      (_, number) => keyNumber(number),
    );
  }

  next(): Operation {
    const index = this.#keys.next();
    const slot = this.shape.isCluster ? index % SLOT_COUNT : 0;
    const number = this.shape.isCluster ? Math.floor(index / SLOT_COUNT) : index;
    const key = `${this.#prefixes[slot] ?? ""}${this.#numbers[number] ?? keyNumber(number)}`;
    return this.random.uniform() < this.shape.reads
      ? { kind: "read", slot, command: this.#read(key) }
      : { kind: "write", slot, command: this.#write(key) };
  }

  #read(key: string): string {
    return this.shape.data === "strings"
      ? `*2\r\n$3\r\nGET\r\n$${key.length}\r\n${key}\r\n`
      : `*4\r\n$6\r\nZRANGE\r\n$${key.length}\r\n${key}\r\n$1\r\n0\r\n$2\r\n-1\r\n`;
  }

  #write(key: string): string {
    if (this.shape.data === "sorted-sets")
      return encodeCommand([
        "ZADD",
        key,
        String(this.random.below(1_000_000)),
        zsetMember(this.random.below(ZSET_MEMBERS)),
      ]);
    const size = this.#sizes.next();
    return `*3\r\n$3\r\nSET\r\n$${key.length}\r\n${key}\r\n$${size}\r\n${this.#payload.slice(0, size)}\r\n`;
  }
}
