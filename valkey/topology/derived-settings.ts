/** Settings of a cluster that must change with its size: derived where nobody asks for others. Pure. */
import type { ServerSettings } from "../settings";
import { busTraffic } from "./bus-traffic";

/** Milliseconds: what it adds to every outage, against failovers that nobody died for (docs/failures.md, node timeout). */
export const MIN_NODE_TIMEOUT_MS = 5000;
/** Valkey's own, and the longest that is derived: a longer one is for somebody to ask for. */
const LONGEST_NODE_TIMEOUT_MS = 15_000;
/** Steps, so that a cluster that grows a little keeps what it has. */
const STEP_MS = 2500;
/** What the bus may take of a node's network at rest, bytes per second: a tenth of 1 Gbit/s. */
const BUS_BYTES_PER_NODE = 12_500_000;

/**
 * How often a node pings each other node. Valkey's own is half the node timeout, and by pings nodes tell each other whom they
 * suspect: a majority agrees on the loss of a primary up to half a node timeout after the timeout itself. The directive is a
 * hidden one.
 */
export const PING_INTERVAL_DIRECTIVE = "cluster-ping-interval";
/** Milliseconds, up to so many nodes: some fifty pings per second of each node. Larger clusters keep Valkey's own. */
const PING_INTERVALS = [
  { nodes: 16, ms: 300 },
  { nodes: 32, ms: 600 },
  { nodes: 64, ms: 1200 },
] as const;

/** Nodes from which a cluster is large. */
export const LARGE_CLUSTER_NODES = 100;

/** Valkey's default for clients. */
const CLIENTS = 10_000;
/** Servers need as many more for files and themselves (`CONFIG_MIN_RESERVED_FDS`). */
const RESERVED_DESCRIPTORS = 32;

/** The shortest node timeout that a cluster of so many nodes should have: pings grow with nodes² / timeout. */
export function nodeTimeoutFor(nodes: number): number {
  for (let timeout = MIN_NODE_TIMEOUT_MS; timeout < LONGEST_NODE_TIMEOUT_MS; timeout += STEP_MS) {
    if (busTraffic(nodes, timeout, true).bytesPerNode <= BUS_BYTES_PER_NODE) return timeout;
  }
  return LONGEST_NODE_TIMEOUT_MS;
}

/** Milliseconds; undefined where Valkey's own is as short. */
export function pingIntervalFor(nodes: number, nodeTimeoutMs: number): number | undefined {
  const ms = PING_INTERVALS.find((step) => nodes <= step.nodes)?.ms;
  return ms === undefined || 2 * ms >= nodeTimeoutMs ? undefined : ms;
}

/**
 * Whether a server knows PING_INTERVAL; one that does not refuses to start with it. Valkey 8.0, 8.1 and 9.1 and Redis 8.0 do,
 * Redis 7.0 does not.
 * @param version of a Valkey or a Redis, as it prints it: `8.1.0`; of anything else it is not known
 */
export function supportsPingInterval(version: string): boolean {
  return Number(/^(\d+)\.\d/.exec(version)?.[1]) >= 8;
}

/** The node timeout at whose half a node of these settings pings. @param settings as they are in force, milliseconds */
export function pingEquivalentTimeoutMs(nodeTimeoutMs: number, { other }: ServerSettings): number {
  const interval = Number(other?.[PING_INTERVAL_DIRECTIVE] ?? 0);
  return interval === 0 ? nodeTimeoutMs : 2 * interval;
}

/** The cluster's own connections, one each way to every other node: the server counts them as clients. */
export function busConnections(nodes: number): number {
  return 2 * Math.max(0, nodes - 1);
}

/** Open files that a server must be allowed. */
export function fileDescriptorsFor(nodes: number): number {
  return maxclientsFor(nodes) + RESERVED_DESCRIPTORS;
}

/** In steps of thousands, so that as many clients as ever are left beside the bus. */
function maxclientsFor(nodes: number): number {
  return CLIENTS + Math.ceil(busConnections(nodes) / 1000) * 1000;
}

/**
 * @param settings as asked for; what they say stays
 * @param pings whether the servers know PING_INTERVAL
 */
export function derivedSettings(settings: ServerSettings, nodes: number, pings: boolean): ServerSettings {
  const timeout = settings["cluster-node-timeout"] ?? nodeTimeoutFor(nodes);
  const interval = pings ? pingIntervalFor(nodes, timeout) : undefined;
  const derived = {
    ...(interval === undefined ? {} : { [PING_INTERVAL_DIRECTIVE]: interval }),
    ...(nodes < LARGE_CLUSTER_NODES ? {} : { maxclients: maxclientsFor(nodes) }),
  };
  const other = { ...derived, ...settings.other };
  return { ...settings, "cluster-node-timeout": timeout, ...(Object.keys(other).length === 0 ? {} : { other }) };
}
