/** The traffic of the cluster bus while no node fails and no slot is migrated. Pure. */

/** Bytes of a ping or a pong without its gossip: `clusterMsg` of cluster_legacy.h up to its data. */
const HEADER = 2256;
/** Bytes of gossip about one other node: `clusterMsgDataGossip`. */
const GOSSIP = 104;
/** Bytes of the extensions of every message of Valkey 9.1, such as the shard ID. */
const EXTENSIONS = 64;
/** Bytes of the extension for a host name of about 60 characters. */
const HOST_NAME = 72;
/** The number of nodes in the gossip of one message: a tenth of all nodes, and at least three. */
const gossipEntries = (nodes: number): number => Math.min(nodes - 2, Math.max(3, Math.floor(nodes / 10)));

/** Upper bounds of a cluster's bus traffic. */
export interface BusTraffic {
  /** Bytes of one ping or pong. */
  readonly messageBytes: number;
  /** Messages that each node sends per second. */
  readonly messagesPerNode: number;
  /** Bytes that each node sends per second. It receives the same number of bytes. */
  readonly bytesPerNode: number;
  /** Bytes that all nodes together send per second. */
  readonly bytes: number;
}

/**
 * An upper bound of the traffic: each node pings each other node once in half the node timeout, and replies to as many
 * pings. A node pings less often the nodes that it learns of by gossip. Nodes of Valkey 9.1 sent 0.8 to 0.9 of the
 * bound in a cluster of 20 nodes, and 0.7 of it in a cluster of 40 nodes. Failures add traffic.
 * @param nodeTimeoutMs `cluster-node-timeout`
 */
export function busTraffic(nodes: number, nodeTimeoutMs: number, announceHostNames: boolean): BusTraffic {
  if (nodes < 2) return { messageBytes: 0, messagesPerNode: 0, bytesPerNode: 0, bytes: 0 };
  const messageBytes = HEADER + gossipEntries(nodes) * GOSSIP + EXTENSIONS + (announceHostNames ? HOST_NAME : 0);
  // A node always sends at least one ping per second: of five nodes, to the one that was silent for longest.
  const pings = Math.max(1, (nodes - 1) / (nodeTimeoutMs / 2000));
  const messagesPerNode = 2 * pings;
  return {
    messageBytes,
    messagesPerNode,
    bytesPerNode: messagesPerNode * messageBytes,
    bytes: nodes * messagesPerNode * messageBytes,
  };
}
