import { Failure } from "../../lib/errors";
import type { NamedKey } from "./key-reader";

/** Undefined after a change of primary or slots, and a broken connection: then writes are repeated. */
export function keyRefusal(target: string, key: NamedKey, message: string): Failure | undefined {
  if (!/^(OOM|ERR|WRONGTYPE|NOPERM|NOAUTH|WRONGPASS)\b/.test(message)) return undefined;
  return new Failure(`${target} refuses ${keyName(key)}: ${message}`);
}

export function keyName({ key, database }: NamedKey): string {
  return `key ${JSON.stringify(key.toString())} of database ${database}`;
}
