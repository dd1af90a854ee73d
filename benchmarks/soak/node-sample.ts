/** What a node is like at one moment of a soak. */
import { z } from "zod";
import { withEveryNode } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { infoFields, infoNumber, parseInfo } from "../../valkey/topology/info";

const count = z.number();

export const nodeSampleSchema = z.strictObject({
  node: z.string(),
  /** `HOST:PORT` of its own, and of the primary that a replica follows. */
  endpoint: z.string(),
  follows: z.string().nullable(),
  /** Null for all that follows where the node did not answer. */
  role: z.enum(["primary", "replica"]).nullable(),
  uptimeSeconds: count.nullable(),
  /** Bytes that it takes for its data and itself. */
  usedBytes: count.nullable(),
  /** Bytes that the system has given it. */
  residentBytes: count.nullable(),
  /** Of the allocator: resident over what is in use. */
  fragmentation: count.nullable(),
  keys: count.nullable(),
  /** Of the append-only file; null where there is none. */
  aofBytes: count.nullable(),
  /** Rewrites since it started; null where there are none. */
  aofRewrites: count.nullable(),
  /** Whether the last one went well. */
  aofWell: z.boolean(),
  /** Of the replication stream. */
  offset: count.nullable(),
  /** A replica's link; true of a primary. */
  linkUp: z.boolean(),
  evicted: count.nullable(),
});
export type NodeSample = z.infer<typeof nodeSampleSchema>;

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
  aofWell: true,
  offset: null,
  linkUp: false,
  evicted: null,
};

/** Every node is asked at once; one that does not answer is in there as silent. */
export function sampleNodes(deployment: Deployment): Promise<NodeSample[]> {
  return withEveryNode(deployment, (reached) =>
    Promise.all(
      reached.map(async ({ node: { name: node, endpoint: at }, connection }): Promise<NodeSample> => {
        const endpoint = formatEndpoint(at);
        try {
          return connection === undefined
            ? { node, endpoint, ...SILENT }
            : {
                node,
                endpoint,
                ...parseNodeSample(
                  await connection.info("server", "memory", "persistence", "replication", "stats", "keyspace"),
                ),
              };
        } catch {
          return { node, endpoint, ...SILENT };
        }
      }),
    ),
  );
}

/** From INFO. Pure. */
export function parseNodeSample(text: string): Omit<NodeSample, "node" | "endpoint"> {
  const info = parseInfo(text);
  const number = (name: string): number | null => infoNumber(info, name) ?? null;
  const isPrimary = info.get("role") === "master";
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
    aofWell: !hasFile || (info.get("aof_last_bgrewrite_status") === "ok" && info.get("aof_last_write_status") === "ok"),
    offset: number(isPrimary ? "master_repl_offset" : "slave_repl_offset"),
    linkUp: isPrimary || info.get("master_link_status") === "up",
    evicted: number("evicted_keys"),
  };
}
