/** What a cluster's nodes tell each other while nothing happens: the cluster bus at rest. Pure. */

/** Bytes of a ping or a pong before what it carries of others: `clusterMsg` of cluster_legacy.h up to its data. */
const HEADER = 2256;
/** Bytes about one other node: `clusterMsgDataGossip`. */
const GOSSIP = 104;
/** Bytes that every message of 9.1 ends with, the shard's id among them; and those of a host name of some 60 characters. */
const EXTENSIONS = 64;
const HOST_NAME = 72;
/** Nodes that a message tells of: a tenth of all, but three at least. */
const gossips = (nodes: number): number => Math.min(nodes - 2, Math.max(3, Math.floor(nodes / 10)));

export interface BusTraffic {
  /** Bytes of one ping or pong. */
  readonly messageBytes: number;
  /** Messages that a node sends per second, at most. */
  readonly messagesPerNode: number;
  /** Bytes that a node sends per second, at most; it receives as many. */
  readonly bytesPerNode: number;
  /** Bytes per second between all nodes, at most. */
  readonly bytes: number;
}

/**
 * An upper bound: each node pings each other node once in half the node timeout, and answers as many pings. What it hears of a node
 * from others stands in for a ping of its own, so that it is less: of 20 nodes of 9.1 between 0.8 and 0.9 of this, of 40 nodes 0.7. A failure
 * makes it more.
 * @param nodeTimeoutMs `cluster-node-timeout`
 * @param named whether nodes announce host names
 */
export function busTraffic(nodes: number, nodeTimeoutMs: number, named: boolean): BusTraffic {
  if (nodes < 2) return { messageBytes: 0, messagesPerNode: 0, bytesPerNode: 0, bytes: 0 };
  const messageBytes = HEADER + gossips(nodes) * GOSSIP + EXTENSIONS + (named ? HOST_NAME : 0);
  // One a second in any case, to whoever was silent longest of five.
  const pings = Math.max(1, (nodes - 1) / (nodeTimeoutMs / 2000));
  const messagesPerNode = 2 * pings;
  return {
    messageBytes,
    messagesPerNode,
    bytesPerNode: messagesPerNode * messageBytes,
    bytes: nodes * messagesPerNode * messageBytes,
  };
}
