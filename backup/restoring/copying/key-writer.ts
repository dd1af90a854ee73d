import { epochMs } from "../../../lib/clock";
import { Failure, messageOf } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { unexpiredPart } from "../../rdb/comparing/walk-values";
import { hashValue } from "../../rdb/comparing/value-hash";
import { decodeValue } from "../../rdb/decode";
import { decodeDump } from "../../rdb/dump";
import type { Value } from "../../rdb/value";
import type { CopiedKey, NamedKey } from "../key-reader";
import { keyRefusal } from "../key-refusal";
import { type Owner, ownersOf } from "../slot-owners";

export interface Copies {
  readonly copied: number;
  /** Number of keys that the target had already, and that were left as they are. */
  readonly kept: number;
  readonly expired: number;
  /** Copied keys that differed when read back: a client has changed them, or the copy is wrong. */
  readonly differing: readonly NamedKey[];
}

/** A large value takes long to load. */
const COMMAND_MS = 120_000;
/** Milliseconds from the first failure on: a connection to a lost machine fails only after a command's time limit. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;
const REPLICA_MS = 1_000;

/** Result of writing one key; `retry` is the reason why it must be written again. */
type Write =
  | { readonly kind: "kept" | "expired" }
  | { readonly kind: "copied"; readonly isEqual: boolean; readonly at: Target }
  | { readonly kind: "retry"; readonly why: string };

interface Target {
  readonly connection: Connection;
  /** False if no replica is known, and after one was too slow. */
  awaitsReplica: boolean;
}

/** If slots or primaries change, it finds the new primary and tries again. */
export class KeyWriter {
  readonly #targets = new Map<string, Promise<Target>>();
  #owners: Promise<readonly (Owner | undefined)[]> | undefined;
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

  async write(keys: readonly CopiedKey[]): Promise<void> {
    let rest = keys;
    let failedAt: number | undefined;
    for (let attempt = 1; ; attempt++) {
      this.signal.throwIfAborted();
      const writes = await this.#awaitReplicas(await Promise.all(rest.map((key) => this.#writeKey(key, attempt > 1))));
      rest = rest.filter((key, index) => !this.#isDone(key, writes[index]));
      if (rest.length === 0) return;
      const why = writes.find((write) => write.kind === "retry")?.why ?? "";
      failedAt ??= performance.now();
      if (performance.now() - failedAt > PATIENCE_MS)
        throw new Failure(`${this.target.name} does not take keys: ${why}`);
      this.close();
      await pause(PAUSE_MS, this.signal);
    }
  }

  close(): void {
    for (const opening of this.#targets.values())
      opening.then(
        ({ connection }) => {
          connection.disconnect();
        },
        () => undefined,
      );
    this.#targets.clear();
    this.#owners = undefined;
  }

  /** Counts a key, unless it must be written again. */
  #isDone({ database, key }: CopiedKey, write: Write | undefined): boolean {
    switch (write?.kind) {
      case "copied":
        this.#copied++;
        if (!write.isEqual) this.#differing.push({ database, key });
        return true;
      case "kept":
        this.#kept++;
        return true;
      case "expired":
        this.#expired++;
        return true;
      default:
        return false;
    }
  }

  async #writeKey(key: CopiedKey, isRetry: boolean): Promise<Write> {
    if ((key.expiresAt ?? Infinity) <= epochMs()) return { kind: "expired" };
    try {
      const at = await this.#targetFor(key);
      const isKept = !(await this.#restore(at.connection, key));
      if (isKept && !isRetry) return { kind: "kept" };
      const isCopy = await isEqual(at.connection, key);
      // The reply to an earlier attempt may have been lost.
      return isKept && !isCopy ? { kind: "kept" } : { kind: "copied", isEqual: isCopy, at };
    } catch (error) {
      const message = messageOf(error);
      const refusal = keyRefusal(this.target.name, key, message);
      if (refusal === undefined) return { kind: "retry", why: message };
      throw refusal;
    }
  }

  /** So that copies stay if the primary is lost. Copies of a primary that is lost meanwhile must be written again. */
  async #awaitReplicas(writes: readonly Write[]): Promise<Write[]> {
    const targets = new Set(writes.flatMap((write) => (write.kind === "copied" ? [write.at] : [])));
    const failed = new Map<Target, string>();
    await Promise.all(
      [...targets].map(async (at) => {
        if (!at.awaitsReplica) return;
        try {
          at.awaitsReplica = (await at.connection.wait(1, REPLICA_MS)) > 0;
        } catch (error) {
          // A user may lack the right to use WAIT.
          if (messageOf(error).startsWith("NOPERM")) at.awaitsReplica = false;
          else failed.set(at, messageOf(error));
        }
      }),
    );
    return writes.map((write) => {
      const why = write.kind === "copied" ? failed.get(write.at) : undefined;
      return why === undefined ? write : { kind: "retry", why };
    });
  }

  /** @returns false if the target has the key already, so nothing is written */
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

  async #targetFor({ slot, database }: CopiedKey): Promise<Target> {
    this.#owners ??= ownersOf(this.target);
    const owner = (await this.#owners)[slot];
    if (owner === undefined) throw new Failure(`no primary has slot ${slot}`);
    const name = `${owner.node.name} ${database}`;
    const opening = this.#targets.get(name) ?? this.#open(owner, database);
    this.#targets.set(name, opening);
    return opening;
  }

  async #open({ node, hasReplica }: Owner, database: number): Promise<Target> {
    const connection = await this.target.connect(node, COMMAND_MS);
    try {
      if (database > 0) await connection.select(database);
      return { connection, awaitsReplica: hasReplica };
    } catch (error) {
      connection.disconnect();
      throw error;
    }
  }
}

/** Compares with the archived value, because servers of different versions encode a value differently in payloads. */
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
