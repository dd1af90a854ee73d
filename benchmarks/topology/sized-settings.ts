/** Settings of a cluster that must change with its size: derived where nobody asks for others. Pure. */
import type { ServerSettings } from "../settings";
import { busTraffic } from "./bus-traffic";

/** Milliseconds: what it adds to every outage, against failovers that nobody died for (docs/failures.md, node timeout). */
export const NODE_TIMEOUT_MS = 5000;
/** Valkey's own, and the longest that is derived: a longer one is for somebody to ask for. */
const LONGEST_NODE_TIMEOUT_MS = 15_000;
/** Steps, so that a cluster that grows a little keeps what it has. */
const STEP_MS = 2500;
/** What the bus may take of a node's network at rest, bytes per second: a tenth of 1 Gbit/s. */
const BUS_BYTES_PER_NODE = 12_500_000;

/** Nodes from which a cluster is large. */
export const LARGE = 100;

/** Valkey's default for clients. */
const CLIENTS = 10_000;
/** Servers need as many more for files and themselves (`CONFIG_MIN_RESERVED_FDS`). */
const RESERVED_DESCRIPTORS = 32;

/** The shortest node timeout that a cluster of so many nodes should have: pings grow with nodes² / timeout. */
export function nodeTimeoutFor(nodes: number): number {
  for (let timeout = NODE_TIMEOUT_MS; timeout < LONGEST_NODE_TIMEOUT_MS; timeout += STEP_MS) {
    if (busTraffic(nodes, timeout, true).bytesPerNode <= BUS_BYTES_PER_NODE) return timeout;
  }
  return LONGEST_NODE_TIMEOUT_MS;
}

/** The cluster's own connections, one each way to every other node: the server counts them as clients. */
export function busConnections(nodes: number): number {
  return 2 * Math.max(0, nodes - 1);
}

/** Open files that a server must be allowed. */
export function descriptorsFor(nodes: number): number {
  return maxclientsFor(nodes) + RESERVED_DESCRIPTORS;
}

/** In steps of thousands, so that as many clients as ever are left beside the bus. */
function maxclientsFor(nodes: number): number {
  return CLIENTS + Math.ceil(busConnections(nodes) / 1000) * 1000;
}

/** @param settings as asked for; what they say stays */
export function sizedSettings(settings: ServerSettings, nodes: number): ServerSettings {
  const { other = {} } = settings;
  return {
    ...settings,
    "cluster-node-timeout": settings["cluster-node-timeout"] ?? nodeTimeoutFor(nodes),
    ...(nodes < LARGE || "maxclients" in other ? {} : { other: { ...other, maxclients: maxclientsFor(nodes) } }),
  };
}
