/** The traffic of the cluster bus while all nodes work and no slot is migrated. */

/** Bytes of a ping or a pong without its gossip: `clusterMsg` of cluster_legacy.h up to its data. */
const HEADER = 2256;
/** Bytes of gossip about one other node: `clusterMsgDataGossip`. */
const GOSSIP = 104;
/** Bytes of the extensions that every message of Valkey 9.1 has, such as the shard ID. */
const EXTENSIONS = 64;
/** Bytes of the extension for a host name of about 60 characters. */
const HOST_NAME = 72;
/** The number of nodes in the gossip of one message: a tenth of all nodes, and at least three. */
const gossipEntries = (nodes: number): number => Math.min(nodes - 2, Math.max(3, Math.floor(nodes / 10)));

/** Upper limits of a cluster's bus traffic. */
export interface BusTraffic {
  /** Bytes of one ping or pong. */
  readonly messageBytes: number;
  /** Messages that each node sends per second. */
  readonly messagesPerNode: number;
  /** Bytes that each node sends per second. Each node also receives this number of bytes per second. */
  readonly bytesPerNode: number;
  /** Bytes that all nodes together send per second. */
  readonly bytes: number;
}

/**
 * An upper limit: a node pings less often who it learns of by gossip. With Valkey 9.1 a node sent 0.8 to 0.9 times the
 * limit in a cluster of 20 nodes, 0.7 times in one of 40; failures add traffic.
 */
export function busTraffic(nodes: number, nodeTimeoutMs: number, announceHostNames: boolean): BusTraffic {
  if (nodes < 2) return { messageBytes: 0, messagesPerNode: 0, bytesPerNode: 0, bytes: 0 };
  const messageBytes = HEADER + gossipEntries(nodes) * GOSSIP + EXTENSIONS + (announceHostNames ? HOST_NAME : 0);
  // A node sends at least one ping per second. It picks five nodes, and pings the node that was silent for longest.
  const pings = Math.max(1, (nodes - 1) / (nodeTimeoutMs / 2000));
  const messagesPerNode = 2 * pings;
  return {
    messageBytes,
    messagesPerNode,
    bytesPerNode: messagesPerNode * messageBytes,
    bytes: nodes * messagesPerNode * messageBytes,
  };
}
