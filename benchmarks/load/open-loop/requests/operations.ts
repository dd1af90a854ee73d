import { slotTags } from "../../../../valkey/topology/slot-tags";
import { keyNumber, keysPerInfix, zsetMember } from "../../../workloads/key-space";
import type { DataKind, KeyDistribution, ValueSizes } from "../../../workloads/mixed-workload";
import { KEY_FAMILIES, ZSET_MEMBERS } from "../../../workloads/mixed-workload";
import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import { keySampler } from "./keys";
import type { Random } from "../../../../lib/statistics/random";
import { encodeCommand } from "../../../../valkey/resp";
import { largestValueSize, sizeSampler } from "../../../workloads/value-sizes";

export interface Operation {
  readonly kind: "read" | "write";
  readonly slot: number;
  /** The encoded command, one character per byte. */
  readonly command: string;
}

export interface OperationSource<O extends Operation = Operation> {
  next(): O;
}

interface MixedOperationOptions {
  readonly data: DataKind;
  readonly reads: number;
  readonly keySpace: number;
  readonly keys: KeyDistribution;
  readonly values: ValueSizes;
  readonly isCluster: boolean;
}

/** Parts of these random letters become values, so that no server can compress a value. */
function payload(bytes: number, random: Random): string {
  const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  let block = "";
  for (let i = 0; i < Math.min(bytes, 4096); i++) block += LETTERS[random.below(LETTERS.length)] ?? "";
  return block.repeat(Math.ceil(bytes / Math.max(1, block.length))).slice(0, bytes);
}

const CACHED_NUMBERS = 65_536;

export class MixedOperationSource implements OperationSource {
  readonly #keys: ReturnType<typeof keySampler>;
  readonly #sizes: ReturnType<typeof sizeSampler>;
  readonly #payload: string;
  readonly #prefixes: readonly string[];
  readonly #numbers: readonly string[];

  constructor(
    private readonly options: MixedOperationOptions,
    private readonly random: Random,
  ) {
    this.#keys = keySampler(options.keys, options.keySpace, random);
    this.#sizes = sizeSampler(options.values, random);
    this.#payload = payload(largestValueSize(options.values), random);
    const family = KEY_FAMILIES[options.data];
    this.#prefixes = options.isCluster ? slotTags().map((tag) => `${family}:{${tag.padEnd(3, "}")}}:`) : [`${family}:`];
    this.#numbers = Array.from(
      { length: Math.min(CACHED_NUMBERS, keysPerInfix(options.keySpace, options.isCluster)) },
      (_, number) => keyNumber(number),
    );
  }

  next(): Operation {
    const index = this.#keys.next();
    const slot = this.options.isCluster ? index % SLOT_COUNT : 0;
    const number = this.options.isCluster ? Math.floor(index / SLOT_COUNT) : index;
    const key = `${this.#prefixes[slot] ?? ""}${this.#numbers[number] ?? keyNumber(number)}`;
    return this.random.uniform() < this.options.reads
      ? { kind: "read", slot, command: this.#read(key) }
      : { kind: "write", slot, command: this.#write(key) };
  }

  #read(key: string): string {
    return this.options.data === "strings"
      ? `*2\r\n$3\r\nGET\r\n$${key.length}\r\n${key}\r\n`
      : `*4\r\n$6\r\nZRANGE\r\n$${key.length}\r\n${key}\r\n$1\r\n0\r\n$2\r\n-1\r\n`;
  }

  #write(key: string): string {
    if (this.options.data === "sorted-sets")
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
