/**
 * Writes archived keys to the primaries of a running deployment, and compares each written key with the archived key.
 */
import { epochMs } from "../../lib/clock";
import { Failure, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { Connection } from "../connection";
import { connect } from "../connection";
import type { Deployment } from "../deployment";
import type { DeploymentNode } from "../node";
import { unexpiredPart } from "../rdb/comparing/walk-values";
import { hashValue } from "../rdb/comparing/value-hash";
import { decodeValue } from "../rdb/decode";
import { decodeDump } from "../rdb/dump";
import type { Value } from "../rdb/value";
import type { CopiedKey, NamedKey } from "./key-reader";
import { keyRefusal } from "./key-refusal";
import { ownersOf } from "./slot-owners";

export interface Copies {
  /** Number of keys that were copied. */
  readonly copied: number;
  /** Number of keys that the target had already, and that were left as they are. */
  readonly kept: number;
  /** Number of keys whose TTL passed before they were copied. */
  readonly expired: number;
  /**
   * Copied keys whose value or TTL differed when they were read back: a client has changed them, or the copy is wrong.
   */
  readonly differing: readonly NamedKey[];
}

/** Time limit of a command, milliseconds. A large value takes long to load. */
const COMMAND_MS = 120_000;
/** Time for which a failed write is tried again, for example while a slot has no primary, milliseconds. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;

/**
 * Writes each key to the primary that has its slot. If slots or primaries change, it finds the new primary and tries
 * again.
 */
export class KeyWriter {
  readonly #connections = new Map<string, Promise<Connection>>();
  /** Primary of each slot, by slot number. Undefined before it is read. */
  #owners: Promise<readonly (DeploymentNode | undefined)[]> | undefined;
  #copied = 0;
  #kept = 0;
  #expired = 0;
  readonly #differing: NamedKey[] = [];

  constructor(
    private readonly target: Deployment,
    private readonly overwrite: boolean,
    private readonly signal: AbortSignal,
  ) {}

  get copies(): Copies {
    return { copied: this.#copied, kept: this.#kept, expired: this.#expired, differing: this.#differing };
  }

  /** Writes keys, and tries failed writes again. @throws the errors of `replayKeys` */
  async write(keys: readonly CopiedKey[]): Promise<void> {
    let rest = keys;
    const began = performance.now();
    for (let attempt = 1; ; attempt++) {
      this.signal.throwIfAborted();
      const reasons = await Promise.all(rest.map((key) => this.#writeKey(key, attempt > 1)));
      rest = rest.filter((_, index) => reasons[index] !== undefined);
      if (rest.length === 0) return;
      const why = reasons.find((reason) => reason !== undefined) ?? "";
      if (performance.now() - began > PATIENCE_MS) throw new Failure(`${this.target.name} does not take keys: ${why}`);
      this.close();
      await pause(PAUSE_MS, this.signal);
    }
  }

  close(): void {
    for (const opening of this.#connections.values())
      opening.then(
        (connection) => {
          connection.disconnect();
        },
        () => undefined,
      );
    this.#connections.clear();
    this.#owners = undefined;
  }

  /** Writes one key. @returns the reason why the key must be written again; undefined if the key is done */
  async #writeKey(key: CopiedKey, isRetry: boolean): Promise<string | undefined> {
    if ((key.expiresAt ?? Infinity) <= epochMs()) {
      this.#expired++;
      return undefined;
    }
    try {
      const connection = await this.#connectionFor(key);
      const isKept = !(await this.#restore(connection, key));
      // The reply to an earlier attempt may have been lost.
      if (isKept && !(isRetry && (await isEqual(connection, key)))) {
        this.#kept++;
        return undefined;
      }
      if (!isKept && !(await isEqual(connection, key))) this.#differing.push({ database: key.database, key: key.key });
      this.#copied++;
      return undefined;
    } catch (error) {
      const message = messageOf(error);
      const refusal = keyRefusal(this.target.name, key, message);
      if (refusal === undefined) return message;
      throw refusal;
    }
  }

  /** Sends RESTORE for a key. @returns false if the target has the key already, so nothing is written */
  async #restore(connection: Connection, { key, dump, expiresAt = 0 }: CopiedKey): Promise<boolean> {
    try {
      const replace = this.overwrite ? ["REPLACE"] : [];
      await connection.call("RESTORE", [key, String(expiresAt), dump, "ABSTTL", ...replace]);
      return true;
    } catch (error) {
      if (messageOf(error).startsWith("BUSYKEY")) return false;
      throw error;
    }
  }

  async #connectionFor({ slot, database }: CopiedKey): Promise<Connection> {
    this.#owners ??= ownersOf(this.target);
    const node = (await this.#owners)[slot];
    if (node === undefined) throw new Failure(`no primary has slot ${slot}`);
    const name = `${node.name} ${database}`;
    const opening = this.#connections.get(name) ?? this.#open(node, database);
    this.#connections.set(name, opening);
    return opening;
  }

  async #open(node: DeploymentNode, database: number): Promise<Connection> {
    const connection = await connect(node.name, node.endpoint, this.target.access, COMMAND_MS);
    try {
      if (database > 0) await connection.select(database);
      return connection;
    } catch (error) {
      connection.disconnect();
      throw error;
    }
  }
}

/**
 * Whether a server has the key with the value and TTL that the restore wants. The value is compared with the archived
 * value, not with the payload that was written, because servers of different versions encode a value differently.
 */
async function isEqual(connection: Connection, wanted: CopiedKey): Promise<boolean> {
  const { key, type, archived, shiftMs, expiresAt } = wanted;
  const [found, foundTtl] = await Promise.all([
    connection.callBuffer("DUMP", [key]) as Promise<Buffer | null>,
    connection.pexpiretime(key),
  ]);
  const now = epochMs();
  const value = unexpiredPart(decodeValue(type, archived), shiftMs, now);
  if (found === null) return value === undefined || (expiresAt ?? Infinity) <= now;
  if (foundTtl !== (expiresAt ?? -1)) return (expiresAt ?? Infinity) <= now;
  const copy = unexpiredPart(decodeDump(found), 0, now);
  return copy === undefined || value === undefined ? copy === value : hashOf(copy).equals(hashOf(value));
}

const hashOf = (value: Value): Buffer => hashValue(value, "replicated");
