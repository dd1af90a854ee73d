/** Settings derived from the size of a cluster, where the configuration does not set them. Pure. */
import type { ServerSettings } from "../settings/settings";
import { busTraffic } from "../topology/bus-traffic";

/**
 * The shortest derived node timeout, milliseconds: a longer one prolongs every outage, a shorter one causes spurious
 * failovers (docs/findings.md).
 */
export const MIN_NODE_TIMEOUT_MS = 5000;
/** Valkey's default, and the longest derived node timeout. A longer one must be configured. */
const MAX_NODE_TIMEOUT_MS = 15_000;
/** The node timeout changes in steps of this size, so that a cluster that grows a little keeps its own. */
const STEP_MS = 2500;
/** Traffic that a node may send over the bus without load, bytes per second: a tenth of 1 Gbit/s. */
const MAX_BUS_BYTES_PER_NODE = 12_500_000;

/**
 * The directive for the interval between a node's pings to another node; a hidden one. Valkey's default is half the
 * node timeout. Pings carry suspicions, so that a majority agrees on the failure of a primary up to half a node timeout
 * after the timeout.
 */
export const PING_INTERVAL_DIRECTIVE = "cluster-ping-interval";
/** Intervals between pings, milliseconds, for clusters up to so many nodes: about 50 pings per second of each node. */
const PING_INTERVALS = [
  { nodes: 16, ms: 300 },
  { nodes: 32, ms: 600 },
  { nodes: 64, ms: 1200 },
] as const;

/** The number of nodes from which a cluster is large: it gets a larger maxclients. */
export const LARGE_CLUSTER_NODES = 100;

/** Valkey's default for maxclients. */
const DEFAULT_MAXCLIENTS = 10_000;
/** File descriptors that a server needs beside those of its clients (`CONFIG_MIN_RESERVED_FDS`). */
const RESERVED_DESCRIPTORS = 32;

/** The node timeout for a cluster of so many nodes, milliseconds: the number of pings grows with nodes² / timeout. */
export function nodeTimeoutFor(nodes: number): number {
  for (let timeout = MIN_NODE_TIMEOUT_MS; timeout < MAX_NODE_TIMEOUT_MS; timeout += STEP_MS) {
    if (busTraffic(nodes, timeout, true).bytesPerNode <= MAX_BUS_BYTES_PER_NODE) return timeout;
  }
  return MAX_NODE_TIMEOUT_MS;
}

/**
 * The interval between pings, milliseconds; undefined for Valkey's default, where that is as short or the cluster is
 * larger.
 */
export function pingIntervalFor(nodes: number, nodeTimeoutMs: number): number | undefined {
  const ms = PING_INTERVALS.find((step) => nodes <= step.nodes)?.ms;
  return ms === undefined || 2 * ms >= nodeTimeoutMs ? undefined : ms;
}

/**
 * Whether a server supports PING_INTERVAL_DIRECTIVE; a server that does not refuses to start with it. Valkey 8.0, 8.1
 * and 9.1 and Redis 8.0 do, Redis 7.0 does not.
 * @param version of Valkey or Redis, as the server prints it: `8.1.0`
 */
export function supportsPingInterval(version: string): boolean {
  return Number(/^(\d+)\.\d/.exec(version)?.[1]) >= 8;
}

/**
 * The node timeout at half of which nodes would ping as often as with these settings, milliseconds.
 * @param settings in force, derived ones included
 */
export function pingEquivalentTimeoutMs(nodeTimeoutMs: number, settings: ServerSettings): number {
  const interval = Number(settings[PING_INTERVAL_DIRECTIVE] ?? 0);
  return interval === 0 ? nodeTimeoutMs : 2 * interval;
}

/** A node's connections of the cluster bus, one each way to every other node. The server counts them as clients. */
export function busConnections(nodes: number): number {
  return 2 * Math.max(0, nodes - 1);
}

/** The limit of open files that a server needs. */
export function fileDescriptorsFor(nodes: number): number {
  return maxclientsFor(nodes) + RESERVED_DESCRIPTORS;
}

/** Valkey's default plus the connections of the bus, in thousands. */
function maxclientsFor(nodes: number): number {
  return DEFAULT_MAXCLIENTS + Math.ceil(busConnections(nodes) / 1000) * 1000;
}

/**
 * Adds the derived settings to the configured ones, which take precedence.
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
