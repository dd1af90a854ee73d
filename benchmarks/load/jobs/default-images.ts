/** Images of load generators that the servers' image lacks. Pinned; configurations may name others. */

/** Image for the open-loop generator: any with Node 20 and a shell. */
export const NODE_IMAGE = "docker.io/library/node:22.20.0-bookworm-slim";

/** Image for memtier_benchmark: any with version 2 and a shell. */
export const MEMTIER_IMAGE = "docker.io/redislabs/memtier_benchmark:2.4.2";
