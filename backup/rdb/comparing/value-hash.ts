/** Equal values have equal hashes, whatever their encoding and the order of their members. */
import { type Hash, createHash } from "node:crypto";
import type { StreamConsumer, StreamGroup, StreamId, Value } from "../value";

/** Each part is preceded by its length, so that different values never give the same bytes. */
class Parts {
  readonly #hash: Hash = createHash("sha256");

  bytes(value: Buffer): this {
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(value.length);
    this.#hash.update(length).update(value);
    return this;
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value));
  }

  number(value: number | bigint | undefined): this {
    return this.text(value === undefined ? "none" : String(value));
  }

  score(value: number): this {
    const bytes = Buffer.allocUnsafe(8);
    // Servers do not distinguish -0 and 0.
    bytes.writeDoubleLE(value === 0 ? 0 : value);
    return this.bytes(bytes);
  }

  id({ ms, sequence }: StreamId): this {
    return this.number(ms).number(sequence);
  }

  digest(): Buffer {
    return this.#hash.digest();
  }
}

/**
 * Scope of a hash: the parts of a value that it covers.
 *
 * - `all`: everything in the RDB file.
 * - `replicated`: everything except the times at which consumers were seen. Use it to compare servers that have received
 *   the same data and commands.
 * - `source`: like `replicated`, without facts about consumer groups that a server does not put into its replication
 *   stream: consumers without a pending entry, because a read that delivers no entry may create one, and in Redis 7.0
 *   the number of entries that a group has read. Use it to compare a server with servers that received its stream.
 */
export type HashScope = "all" | "replicated" | "source";

/** Field TTLs, consumer groups and pending entries are part of it. */
export function hashValue(value: Value, scope: HashScope = "all"): Buffer {
  const parts = new Parts().text(value.kind);
  switch (value.kind) {
    case "string":
      return parts.bytes(value.value).digest();
    case "list":
      return all(parts, value.elements, (element) => parts.bytes(element)).digest();
    case "set":
      return all(
        parts,
        sorted(value.members, (member) => member),
        (member) => parts.bytes(member),
      ).digest();
    case "sorted set":
      return all(
        parts,
        sorted(value.members, ({ member }) => member),
        ({ member, score }) => parts.bytes(member).score(score),
      ).digest();
    case "hash":
      return all(
        parts,
        sorted(value.fields, ({ field }) => field),
        (field) => parts.bytes(field.field).bytes(field.value).number(field.expiresAt),
      ).digest();
    case "stream":
      all(parts.id(value.lastId).id(value.maxDeletedId).number(value.entriesAdded), value.entries, ({ id, fields }) =>
        fields.reduce((entry, each) => entry.bytes(each), parts.id(id).number(fields.length)),
      );
      for (const group of sorted(value.groups, ({ name }) => name)) parts.bytes(hashGroup(group, scope));
      return parts.digest();
    case "module":
      return parts.bytes(value.bytes).digest();
  }
}

function hashGroup({ name, lastId, entriesRead, pending, consumers }: StreamGroup, scope: HashScope): Buffer {
  const parts = new Parts().bytes(name).id(lastId).number(pending.length);
  for (const { id, consumer, deliveredAt, deliveries } of pending)
    parts.id(id).bytes(consumer).number(deliveredAt).number(deliveries);
  if (scope === "source") return parts.digest();
  return all(
    parts.number(entriesRead),
    sorted(consumers, (consumer: StreamConsumer) => consumer.name),
    ({ name: consumer, seenAt, activeAt }) => {
      parts.bytes(consumer);
      if (scope === "all") parts.number(seenAt).number(activeAt);
    },
  ).digest();
}

function all<T>(parts: Parts, items: readonly T[], add: (item: T) => unknown): Parts {
  parts.number(items.length);
  for (const item of items) add(item);
  return parts;
}

function sorted<T>(items: readonly T[], nameOf: (item: T) => Buffer): T[] {
  return [...items].sort((a, b) => Buffer.compare(nameOf(a), nameOf(b)));
}
