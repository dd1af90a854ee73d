import { z } from "zod";
import { type ConnectionAttempt, withEveryNode } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { hasPrimaryRole, infoFields, infoNumber, parseInfo } from "../../valkey/topology/replies";

const count = z.number();

export const nodeSampleSchema = z.strictObject({
  node: z.string(),
  /** Endpoint of the node: `HOST:PORT`. */
  endpoint: z.string(),
  /** Endpoint of the primary that a replica follows: `HOST:PORT`; null for a primary. */
  follows: z.string().nullable(),
  /** Role of the node. This field and all later fields are null if the node did not reply. */
  role: z.enum(["primary", "replica"]).nullable(),
  uptimeSeconds: count.nullable(),
  /** The value of used_memory, bytes. It includes data and overhead. */
  usedBytes: count.nullable(),
  /** The value of used_memory_rss, bytes. This is the memory that the operating system has given to the server. */
  residentBytes: count.nullable(),
  /** Resident memory of the allocator divided by its allocated memory. */
  fragmentation: count.nullable(),
  keys: count.nullable(),
  /** Size of the append-only file, bytes; null if the node does not write this file. */
  aofBytes: count.nullable(),
  /** Number of rewrites of the append-only file since the server started; null if the node does not write this file. */
  aofRewrites: count.nullable(),
  /** Whether the last write and the last rewrite of the append-only file succeeded. */
  aofHealthy: z.boolean(),
  /** Offset in the replication stream, bytes. */
  offset: count.nullable(),
  /** Whether a replica's link to its primary is up; true for a primary. */
  linkUp: z.boolean(),
  evicted: count.nullable(),
});
export type NodeSample = z.infer<typeof nodeSampleSchema>;

const SECTIONS = ["server", "memory", "persistence", "replication", "stats", "keyspace"] as const;

const SILENT: Omit<NodeSample, "node" | "endpoint"> = {
  follows: null,
  role: null,
  uptimeSeconds: null,
  usedBytes: null,
  residentBytes: null,
  fragmentation: null,
  keys: null,
  aofBytes: null,
  aofRewrites: null,
  aofHealthy: true,
  offset: null,
  linkUp: false,
  evicted: null,
};

export function sampleNodes(deployment: Deployment): Promise<NodeSample[]> {
  return withEveryNode(deployment, (attempts) => Promise.all(attempts.map(sampleNode)));
}

async function sampleNode({ node: { name: node, endpoint: at }, connection }: ConnectionAttempt): Promise<NodeSample> {
  const endpoint = formatEndpoint(at);
  try {
    const info = await connection?.info(...SECTIONS);
    return { node, endpoint, ...(info === undefined ? SILENT : parseNodeSample(info)) };
  } catch {
    return { node, endpoint, ...SILENT };
  }
}

export function parseNodeSample(text: string): Omit<NodeSample, "node" | "endpoint"> {
  const info = parseInfo(text);
  const number = (name: string): number | null => infoNumber(info, name) ?? null;
  const isPrimary = hasPrimaryRole(info);
  const hasFile = info.get("aof_enabled") === "1";
  return {
    follows: isPrimary ? null : `${info.get("master_host") ?? ""}:${info.get("master_port") ?? ""}`,
    role: isPrimary ? "primary" : "replica",
    uptimeSeconds: number("uptime_in_seconds"),
    usedBytes: number("used_memory"),
    residentBytes: number("used_memory_rss"),
    fragmentation: number("allocator_frag_ratio") ?? number("mem_fragmentation_ratio"),
    keys: Number(infoFields(info.get("db0") ?? "").get("keys") ?? 0),
    aofBytes: hasFile ? number("aof_current_size") : null,
    aofRewrites: hasFile ? number("aof_rewrites") : null,
    aofHealthy:
      !hasFile || (info.get("aof_last_bgrewrite_status") === "ok" && info.get("aof_last_write_status") === "ok"),
    offset: number(isPrimary ? "master_repl_offset" : "slave_repl_offset"),
    linkUp: isPrimary || info.get("master_link_status") === "up",
    evicted: number("evicted_keys"),
  };
}
