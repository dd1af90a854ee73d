import type { Connection } from "./connection";
import { infoFields, infoNumber, parseFlatReply, parseInfo } from "./topology/replies";

/** `cluster-databases` (Valkey 9.0), or 1 if the server lacks this directive. */
export async function readClusterDatabases(connection: Connection): Promise<number> {
  const settings = parseFlatReply(await connection.config("GET", "cluster-databases"));
  return infoNumber(settings, "cluster-databases") ?? 1;
}

/** DBSIZE is not used, because it counts the keys of one database only. */
export async function readKeyCount(connection: Connection): Promise<number> {
  return keysInAllDatabases(parseInfo(await connection.info("keyspace")));
}

/** @param info INFO with the section `keyspace`, which omits empty databases */
export function keysInAllDatabases(info: ReadonlyMap<string, string>): number {
  const databases = [...info].filter(([name]) => /^db\d+$/.test(name));
  return databases.reduce((sum, [, fields]) => sum + (infoNumber(infoFields(fields), "keys") ?? 0), 0);
}
