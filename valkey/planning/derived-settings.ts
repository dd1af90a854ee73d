/** Settings derived from the shape of a deployment apply only if the configuration does not set them. */
import { REPLICAS_NEEDED, type ServerSettings } from "../settings/settings";
import { busTraffic } from "../topology/bus-traffic";

/** Every outage takes longer with a longer timeout; a shorter one causes spurious failovers (docs/findings.md). */
export const MIN_NODE_TIMEOUT_MS = 5000;
/** It is Valkey's default. Longer timeouts must be configured. */
const MAX_NODE_TIMEOUT_MS = 15_000;
/** With steps, a cluster that grows a little keeps its timeout. */
const STEP_MS = 2500;
/** Bytes per second that a node may send over the bus while clients send no load: a tenth of 1 Gbit/s. */
const MAX_BUS_BYTES_PER_NODE = 12_500_000;

/**
 * Valkey does not document this directive, whose default is half the node timeout. A node reports suspicions of a
 * primary in its pings, so a majority can need half a node timeout longer.
 */
export const PING_INTERVAL_DIRECTIVE = "cluster-ping-interval";
/** For clusters with up to `nodes` nodes; about 50 pings per second from each node. */
const PING_INTERVALS = [
  { nodes: 16, ms: 300 },
  { nodes: 32, ms: 600 },
  { nodes: 64, ms: 1200 },
] as const;

/** A large cluster gets a larger maxclients. */
export const LARGE_CLUSTER_NODES = 100;

const DEFAULT_MAXCLIENTS = 10_000;
/** File descriptors of a server that are not available to clients (`CONFIG_MIN_RESERVED_FDS`). */
const RESERVED_DESCRIPTORS = 32;

/** It grows with the cluster, because the number of pings is proportional to nodes² / timeout. */
export function nodeTimeoutFor(nodes: number): number {
  for (let timeout = MIN_NODE_TIMEOUT_MS; timeout < MAX_NODE_TIMEOUT_MS; timeout += STEP_MS) {
    if (busTraffic(nodes, timeout, true).bytesPerNode <= MAX_BUS_BYTES_PER_NODE) return timeout;
  }
  return MAX_NODE_TIMEOUT_MS;
}

/** Undefined: Valkey's default, if it is short enough or the cluster is too large for a shorter interval. */
export function pingIntervalFor(nodes: number, nodeTimeoutMs: number): number | undefined {
  const ms = PING_INTERVALS.find((step) => nodes <= step.nodes)?.ms;
  return ms === undefined || 2 * ms >= nodeTimeoutMs ? undefined : ms;
}

/** A server without the directive refuses to start with it: Redis 7.0. Valkey 8.0, 8.1, 9.1 and Redis 8.0 have it. */
export function supportsPingInterval(version: string): boolean {
  return Number(/^(\d+)\.\d/.exec(version)?.[1]) >= 8;
}

/** By default, a node pings at half the node timeout. @param settings settings in force, including derived settings */
export function pingEquivalentTimeoutMs(nodeTimeoutMs: number, settings: ServerSettings): number {
  const interval = Number(settings[PING_INTERVAL_DIRECTIVE] ?? 0);
  return interval === 0 ? nodeTimeoutMs : 2 * interval;
}

/** One in each direction to every other node. The server counts them as clients. */
export function busConnections(nodes: number): number {
  return 2 * Math.max(0, nodes - 1);
}

export function fileDescriptorsFor(nodes: number): number {
  return maxclientsFor(nodes) + RESERVED_DESCRIPTORS;
}

/** Valkey's default, plus the number of bus connections rounded up to whole thousands. */
function maxclientsFor(nodes: number): number {
  return DEFAULT_MAXCLIENTS + Math.ceil(busConnections(nodes) / 1000) * 1000;
}

/** Configured settings take precedence. */
export function derivedSettings(settings: ServerSettings, nodes: number, hasPingInterval: boolean): ServerSettings {
  const timeout = settings["cluster-node-timeout"] ?? nodeTimeoutFor(nodes);
  const interval = hasPingInterval ? pingIntervalFor(nodes, timeout) : undefined;
  return {
    ...(interval === undefined ? {} : { [PING_INTERVAL_DIRECTIVE]: interval }),
    ...(nodes < LARGE_CLUSTER_NODES ? {} : { maxclients: maxclientsFor(nodes) }),
    ...settings,
    "cluster-node-timeout": timeout,
  };
}

/** With one replica, a primary would refuse writes whenever this replica restarts. */
const REDUNDANT_REPLICAS = 2;
/**
 * Replicas report once per second. With a lag of 1 s, replicas of a busy machine count as late; with 2 s, a primary that
 * is cut off refuses writes before a replica takes over (docs/failures.md).
 */
const MAX_LAG_SECONDS = 2;

/** A primary that no replica follows may have a successor, so it refuses writes. Configured settings take precedence. */
export function withNeededReplicas(settings: ServerSettings, replicasPerPrimary: number): ServerSettings {
  if (replicasPerPrimary < REDUNDANT_REPLICAS) return settings;
  return { [REPLICAS_NEEDED]: 1, "min-replicas-max-lag": MAX_LAG_SECONDS, ...settings };
}
