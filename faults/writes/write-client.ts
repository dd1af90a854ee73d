/** Sends each write when it is due, even if earlier ones have not ended, and never repeats one after an error. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeploymentNode, Mode } from "../../valkey/node";
import type { SlotRange } from "../../valkey/topology/slots";
import type { WriteLoad } from "../plan/scenario";
import type { KeyContent } from "./accounting";
import { type ClientRoutes, readKey, sendWrite, numberedValue } from "./commands";
import { type Dialer, ConnectionPool } from "./connection-pool";
import { RoutingTable } from "./routing-table";
import { type WriteOutcome, OVERLOADED, WriteHistory } from "./write-history";
import { WriteKeys } from "./write-keys";

const TICK_MS = 2;
/** Several, because WAIT blocks its connection. */
const CONNECTIONS_WITH_WAIT = 8;
/** In addition to twice the number of writes that are due during one timeout. */
const EXTRA_IN_FLIGHT = 100;
const READS_IN_FLIGHT = 200;

interface WriteClientTarget {
  readonly mode: Mode;
  readonly shards: readonly (readonly SlotRange[])[];
  readonly nodes: () => readonly DeploymentNode[];
  readonly dial: Dialer;
  /** Whether a cluster's nodes are reached at the addresses that they announce. @default as `nodes` has them */
  readonly followsAnnounced?: boolean | undefined;
}

export class WriteClient {
  readonly history = new WriteHistory();
  readonly #client: ClientRoutes;
  readonly #connectionsPerNode: number;
  readonly #keys: WriteKeys;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #maxInFlight: number;
  readonly #stopped = new AbortController();
  #pacing: Promise<void> | undefined;

  /** @param prefix prefix of all keys; no other client may write keys with this prefix */
  constructor(
    { mode, shards, nodes, dial, followsAnnounced }: WriteClientTarget,
    private readonly load: WriteLoad,
    prefix: string,
  ) {
    const { rate, timeoutMs, acknowledgement } = load;
    this.#connectionsPerNode = acknowledgement.replicas > 0 ? CONNECTIONS_WITH_WAIT : 1;
    this.#client = {
      routes: new RoutingTable(mode, nodes, dial, followsAnnounced),
      connections: new ConnectionPool(dial, this.#connectionsPerNode),
    };
    this.#keys = new WriteKeys(mode, shards, prefix);
    const longestMs = timeoutMs + acknowledgement.timeoutMs;
    this.#maxInFlight = Math.ceil((rate * longestMs) / 1000) * 2 + EXTRA_IN_FLIGHT;
  }

  get shardCount(): number {
    return this.#keys.shardCount;
  }

  async start(): Promise<void> {
    const { routes, connections } = this.#client;
    await routes.open();
    // Connections are opened before the first write, so that no latency includes the time for opening them.
    const owners = this.#keys.slotOfEachShard.flatMap((slot) => routes.owner(slot) ?? []);
    const opened = owners.flatMap((owner) =>
      Array.from({ length: this.#connectionsPerNode }, () => connections.connectionTo(owner)),
    );
    await Promise.allSettled(opened);
    this.#pacing = this.#pace();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#pacing;
    await Promise.all(this.#inFlight);
  }

  async readBack(): Promise<Map<string, KeyContent>> {
    const contents = new Map<string, KeyContent>();
    const keys = this.#keys.all;
    for (let start = 0; start < keys.length; start += READS_IN_FLIGHT) {
      const batch = keys.slice(start, start + READS_IN_FLIGHT);
      await Promise.all(batch.map(async (key) => contents.set(key.name, await readKey(key, this.#client))));
    }
    return contents;
  }

  close(): void {
    this.#stopped.abort();
    this.#client.routes.close();
    this.#client.connections.close();
  }

  async #pace(): Promise<void> {
    const { signal } = this.#stopped;
    const intervalMs = 1000 / this.load.rate;
    const beganMs = performance.now();
    const dueMs = (index: number): number => beganMs + index * intervalMs;
    let next = 0;
    while (!signal.aborted) {
      for (const now = performance.now(); dueMs(next) <= now; next++) this.#send(next % this.shardCount, dueMs(next));
      await sleep(TICK_MS);
    }
  }

  #send(shard: number, dueMs: number): void {
    const key = this.#keys.next(shard);
    const { name, number } = key;
    const record = (outcome: WriteOutcome, redirects: number): void => {
      this.history.add({ key: name, number, shard, dueMs, endedMs: performance.now(), redirects, outcome });
      // A write with an unknown outcome may still take effect and overwrite a later write. So its key is not written
      // again.
      if (outcome.kind !== "unknown") this.#keys.release(key);
    };
    if (this.#inFlight.size >= this.#maxInFlight) {
      record({ kind: "failed", error: OVERLOADED }, 0);
      return;
    }
    const value = numberedValue(name, number, this.load.bytes);
    const write = sendWrite(key, value, this.load.acknowledgement, this.#client).then(({ outcome, redirects }) => {
      record(outcome, redirects);
      if (outcome.kind !== "acknowledged") this.#client.routes.refreshSoon();
      this.#inFlight.delete(write);
    });
    this.#inFlight.add(write);
  }
}
