export interface HashField {
  readonly field: Buffer;
  readonly value: Buffer;
  readonly expiresAt: number | undefined;
}

export interface SortedSetMember {
  readonly member: Buffer;
  readonly score: number;
}

export interface StreamId {
  readonly ms: bigint;
  readonly sequence: bigint;
}

export interface StreamEntry {
  readonly id: StreamId;
  readonly fields: readonly Buffer[];
}

export interface PendingEntry {
  readonly id: StreamId;
  readonly consumer: Buffer;
  readonly deliveredAt: number;
  readonly deliveries: bigint;
}

export interface StreamConsumer {
  readonly name: Buffer;
  readonly seenAt: number;
  /** Time at which the consumer received its last entry. -1 if it never received one. */
  readonly activeAt: number;
}

export interface StreamGroup {
  readonly name: Buffer;
  readonly lastId: StreamId;
  /** Number of entries that the group has read. 2^64-1 if the server does not know it. */
  readonly entriesRead: bigint;
  readonly pending: readonly PendingEntry[];
  readonly consumers: readonly StreamConsumer[];
}

export type Value =
  | { readonly kind: "string"; readonly value: Buffer }
  | { readonly kind: "list"; readonly elements: readonly Buffer[] }
  | { readonly kind: "set"; readonly members: readonly Buffer[] }
  | { readonly kind: "sorted set"; readonly members: readonly SortedSetMember[] }
  | { readonly kind: "hash"; readonly fields: readonly HashField[] }
  | {
      readonly kind: "stream";
      readonly entries: readonly StreamEntry[];
      readonly lastId: StreamId;
      readonly maxDeletedId: StreamId;
      readonly entriesAdded: bigint;
      readonly groups: readonly StreamGroup[];
    }
  /** Its bytes are compared as they are, because only the module can decode them. */
  | { readonly kind: "module"; readonly bytes: Buffer };
