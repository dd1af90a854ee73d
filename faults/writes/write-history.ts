/** What a client knows of its writes: when each was due, when it was over, and what the server said. Plain data. */

/** By whom a write was refused, or why there was no answer: a server's error code (`CLUSTERDOWN`), or one of these. */
export type WriteErrorCode = string;

/** No connection could be made to the node that should take the write. */
export const CONNECTION_REFUSED = "refused";
/** The connection ended before the answer. */
export const CONNECTION_LOST = "connection-lost";
/** No answer in time. */
export const TIMEOUT = "timeout";
/** The primary took the write, and fewer replicas than wanted said that they have it. */
export const NOT_REPLICATED = "not-replicated";
/** More writes were under way than a client may have; it was not sent. */
export const OVERLOADED = "overloaded";

/**
 * `acknowledged`: the server said yes. `failed`: it is certain that the write was not done, for it was refused or never
 * sent. `unknown`: it may have been done or may be done yet, for it was sent and nothing more was heard.
 */
export type WriteOutcome =
  { readonly kind: "acknowledged" } | { readonly kind: "failed" | "unknown"; readonly error: WriteErrorCode };

export const WRITE_OUTCOMES = ["acknowledged", "failed", "unknown"] as const;

/** One write. Times are milliseconds of one clock. */
export interface Write {
  readonly key: string;
  /** Of the key's writes, from 1 on. */
  readonly number: number;
  /** Index of the shard that served the key when the journal was begun. */
  readonly shard: number;
  /** When it was due, which is when a client in a hurry would have sent it. */
  readonly dueMs: number;
  readonly endedMs: number;
  /** How often it was sent elsewhere after a redirection. */
  readonly redirects: number;
  readonly outcome: WriteOutcome;
}

export class WriteHistory {
  readonly #writes: Write[] = [];

  add(write: Write): void {
    this.#writes.push(write);
  }

  /** In the order in which they ended. */
  get writes(): readonly Write[] {
    return this.#writes;
  }

  /** Keys in order of first appearance, each with its writes by number. */
  byKey(): Map<string, Write[]> {
    const keys = new Map<string, Write[]>();
    for (const write of this.#writes) {
      const history = keys.get(write.key);
      if (history === undefined) keys.set(write.key, [write]);
      else history.push(write);
    }
    for (const history of keys.values()) history.sort((a, b) => a.number - b.number);
    return keys;
  }
}
