import { type Connection, readInfoSections } from "../connection";
import { keysInAllDatabases } from "../databases";
import type { Member } from "../membership/members";
import { infoNumber, parseInfo } from "../topology/replies";

export interface MemoryUse {
  readonly keys: number;
  readonly used: number;
  readonly limit: number;
}

/** Fields of INFO memory whose bytes do not belong to keys. */
const NOT_KEYS = [
  "used_memory_startup",
  "mem_clients_normal",
  "mem_clients_slaves",
  "mem_replication_backlog",
  "mem_aof_buffer",
  "mem_cluster_links",
];

export async function readMemoryUse(members: readonly Member[]): Promise<Map<string, MemoryUse>> {
  const uses = await Promise.all(members.map(({ connection }) => memoryUseOf(connection)));
  return new Map(uses.map((use, index) => [members[index]?.node.name ?? "", use]));
}

async function memoryUseOf(connection: Connection): Promise<MemoryUse> {
  const info = parseInfo(await readInfoSections(connection, "memory", "keyspace"));
  const bytes = (name: string): number => infoNumber(info, name) ?? 0;
  const other = NOT_KEYS.reduce((sum, name) => sum + bytes(name), 0);
  const isEmpty = keysInAllDatabases(info) === 0;
  const used = bytes("used_memory");
  return { keys: isEmpty ? 0 : Math.max(0, used - other), used, limit: bytes("maxmemory") };
}

/** Memory that a node uses, bytes. */
export async function readUsedMemory(connection: Connection): Promise<number> {
  return infoNumber(parseInfo(await connection.info("memory")), "used_memory") ?? 0;
}
