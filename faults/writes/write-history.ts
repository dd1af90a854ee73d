/** History of a client's writes: when each write was due, when it ended, and what the server replied. */

/** Reason why a write was not acknowledged: a server's error code (`CLUSTERDOWN`), or one of the constants below. */
export type WriteErrorCode = string;

export const CONNECTION_REFUSED = "refused";
export const CONNECTION_LOST = "connection-lost";
export const TIMEOUT = "timeout";
/** The primary has the write, but too few replicas have confirmed it. */
export const NOT_REPLICATED = "not-replicated";
/** The write was not sent, because the client had too many writes in flight. */
export const OVERLOADED = "overloaded";
export const TOO_MANY_REDIRECTS = "too-many-redirections";

/** `acknowledged`: OK. `failed`: certainly not performed. `unknown`: sent without a reply, may still be performed. */
export type WriteOutcome =
  | { readonly kind: "acknowledged" }
  | { readonly kind: "failed" | "unknown"; readonly error: WriteErrorCode };

/** Times are milliseconds of performance.now. */
export interface Write {
  readonly key: string;
  readonly number: number;
  readonly shard: number;
  readonly dueMs: number;
  readonly endedMs: number;
  readonly redirects: number;
  readonly outcome: WriteOutcome;
}

export function isAcknowledged({ outcome }: Pick<Write, "outcome">): boolean {
  return outcome.kind === "acknowledged";
}

export class WriteHistory {
  readonly #writes: Write[] = [];

  add(write: Write): void {
    this.#writes.push(write);
  }

  get writes(): readonly Write[] {
    return this.#writes;
  }

  byKey(): Map<string, Write[]> {
    const keys = new Map<string, Write[]>();
    for (const write of this.#writes) {
      const ofKey = keys.get(write.key);
      if (ofKey === undefined) keys.set(write.key, [write]);
      else ofKey.push(write);
    }
    for (const ofKey of keys.values()) ofKey.sort((a, b) => a.number - b.number);
    return keys;
  }
}
