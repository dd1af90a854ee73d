/**
 * Settings that are derived from the size of a cluster. A derived setting applies only if the configuration does not
 * set it. `memory-plan.ts` derives `maxmemory` from the memory of a pod. Pure.
 */
import type { ServerSettings } from "../settings/settings";
import { busTraffic } from "../topology/bus-traffic";

/**
 * The shortest derived node timeout, milliseconds. With a longer timeout, every outage takes longer. A shorter timeout
 * causes spurious failovers (docs/findings.md).
 */
export const MIN_NODE_TIMEOUT_MS = 5000;
/** The longest derived node timeout, milliseconds. It is Valkey's default. Longer timeouts must be configured. */
const MAX_NODE_TIMEOUT_MS = 15_000;
/** Step between derived node timeouts, milliseconds. With steps, a cluster that grows a little keeps its timeout. */
const STEP_MS = 2500;
/**
 * Bytes per second that a node is allowed to send over the bus while clients send no load. This is a tenth of 1 Gbit/s.
 */
const MAX_BUS_BYTES_PER_NODE = 12_500_000;

/**
 * Name of the directive for the interval at which a node pings each other node. Valkey does not document this
 * directive. The default is half the node timeout.
 *
 * A node that suspects a primary reports this suspicion in its pings. With the default interval, it can take half a
 * node timeout longer until a majority has reported its suspicion.
 */
export const PING_INTERVAL_DIRECTIVE = "cluster-ping-interval";
/**
 * Intervals between pings, milliseconds. Each interval is for clusters with up to `nodes` nodes, and gives about 50
 * pings per second from each node.
 */
const PING_INTERVALS = [
  { nodes: 16, ms: 300 },
  { nodes: 32, ms: 600 },
  { nodes: 64, ms: 1200 },
] as const;

/** Number of nodes at which a cluster counts as large. A large cluster gets a larger maxclients. */
export const LARGE_CLUSTER_NODES = 100;

/** Valkey's default for maxclients. */
const DEFAULT_MAXCLIENTS = 10_000;
/** File descriptors of a server that are not available to clients (`CONFIG_MIN_RESERVED_FDS`). */
const RESERVED_DESCRIPTORS = 32;

/**
 * The node timeout for a cluster of `nodes` nodes, milliseconds. It grows with the cluster, because the number of pings
 * is proportional to nodes² / timeout.
 */
export function nodeTimeoutFor(nodes: number): number {
  for (let timeout = MIN_NODE_TIMEOUT_MS; timeout < MAX_NODE_TIMEOUT_MS; timeout += STEP_MS) {
    if (busTraffic(nodes, timeout, true).bytesPerNode <= MAX_BUS_BYTES_PER_NODE) return timeout;
  }
  return MAX_NODE_TIMEOUT_MS;
}

/**
 * The interval between pings, milliseconds. Undefined means Valkey's default. The result is undefined if the default is
 * short enough, or if the cluster is too large for a shorter interval.
 */
export function pingIntervalFor(nodes: number, nodeTimeoutMs: number): number | undefined {
  const ms = PING_INTERVALS.find((step) => nodes <= step.nodes)?.ms;
  return ms === undefined || 2 * ms >= nodeTimeoutMs ? undefined : ms;
}

/**
 * Whether a server supports PING_INTERVAL_DIRECTIVE. A server that lacks this directive refuses to start with it.
 * Valkey 8.0, 8.1 and 9.1 and Redis 8.0 support the directive. Redis 7.0 does not.
 * @param version version of Valkey or Redis as the server prints it: `8.1.0`
 */
export function supportsPingInterval(version: string): boolean {
  return Number(/^(\d+)\.\d/.exec(version)?.[1]) >= 8;
}

/**
 * Twice the interval between pings with the given settings, milliseconds. If no interval is configured, a node pings at
 * half the node timeout, and the result is the node timeout.
 * @param settings settings in force, including derived settings
 */
export function pingEquivalentTimeoutMs(nodeTimeoutMs: number, settings: ServerSettings): number {
  const interval = Number(settings[PING_INTERVAL_DIRECTIVE] ?? 0);
  return interval === 0 ? nodeTimeoutMs : 2 * interval;
}

/**
 * Number of cluster bus connections of a node. A node has two connections to every other node, one in each direction.
 * The server counts these connections as clients.
 */
export function busConnections(nodes: number): number {
  return 2 * Math.max(0, nodes - 1);
}

/** The limit of open files for a server in a cluster of `nodes` nodes. */
export function fileDescriptorsFor(nodes: number): number {
  return maxclientsFor(nodes) + RESERVED_DESCRIPTORS;
}

/**
 * The `maxclients` of a server in a cluster of `nodes` nodes: Valkey's default, plus the number of bus connections
 * rounded up to whole thousands.
 */
function maxclientsFor(nodes: number): number {
  return DEFAULT_MAXCLIENTS + Math.ceil(busConnections(nodes) / 1000) * 1000;
}

/**
 * Adds derived settings to the configured settings. Configured settings take precedence.
 * @param hasPingInterval whether the servers support PING_INTERVAL_DIRECTIVE
 */
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
