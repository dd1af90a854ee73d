/** Errors of servers that refuse a key. Pure. */
import { Failure } from "../../lib/errors";
import type { NamedKey } from "./key-reader";

/**
 * The failure that follows from an error of RESTORE. Undefined for errors of a shard that changes its primary or its
 * slots, and of connections, which end when it does: after them, the write is tried again.
 * @param target name of the deployment
 */
export function keyRefusal(target: string, key: NamedKey, message: string): Failure | undefined {
  if (!/^(OOM|ERR|WRONGTYPE|NOPERM|NOAUTH|WRONGPASS)\b/.test(message)) return undefined;
  return new Failure(`${target} refuses ${keyName(key)}: ${message}`);
}

/** A key with its database, for messages. */
export function keyName({ key, database }: NamedKey): string {
  return `key ${JSON.stringify(key.toString())} of database ${database}`;
}
