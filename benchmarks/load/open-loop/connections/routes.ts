/** Routes tell which servers own each slot. CLUSTER SLOTS is sent at the start and after every sign of a change. */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../../../valkey/connection";
import { type NodeAccess, type Endpoint, type Mode, formatEndpoint } from "../../../../valkey/node";
import { Failure, messageOf } from "../../../../lib/errors";
import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import { withConnection } from "../../../../valkey/connections";

export interface ShardRoute {
  readonly primary: Endpoint;
  readonly replicas: readonly Endpoint[];
  /** Ranges of slots, including both ends; all slots in replication mode. */
  readonly slots: readonly { readonly from: number; readonly to: number }[];
}

export type DiscoverRoutes = () => Promise<readonly ShardRoute[]>;

interface RouteDiscoveryOptions {
  readonly mode: Mode;
  /** In replication mode first the primary, then the replicas; in cluster mode any nodes. */
  readonly endpoints: readonly Endpoint[];
  readonly access: NodeAccess;
}

const QUERY_TIMEOUT_MS = 1_000;

/** The configured endpoints in replication mode; otherwise asks one node after the other until one replies. */
export function routeDiscovery({ mode, endpoints, access }: RouteDiscoveryOptions): DiscoverRoutes {
  const [primary, ...replicas] = endpoints;
  if (primary === undefined) throw new Failure("the open-loop generator has no endpoint");
  if (mode === "replication")
    return () => Promise.resolve([{ primary, replicas, slots: [{ from: 0, to: SLOT_COUNT - 1 }] }]);
  let known = endpoints;
  return async () => {
    const reasons: string[] = [];
    for (const endpoint of known) {
      try {
        const shards = await slotsOf(endpoint, access);
        // The nodes of the latest routes are asked first, then the configured endpoints.
        const serving = shards.flatMap((shard) => [shard.primary, ...shard.replicas]);
        known = [...new Map([...serving, ...endpoints].map((each) => [formatEndpoint(each), each])).values()];
        return shards;
      } catch (error) {
        reasons.push(`${formatEndpoint(endpoint)}: ${messageOf(error)}`);
      }
    }
    throw new Failure(
      `no node of the cluster answers CLUSTER SLOTS:\n${reasons.map((reason) => `  - ${reason}`).join("\n")}`,
    );
  };
}

async function slotsOf(endpoint: Endpoint, access: NodeAccess): Promise<ShardRoute[]> {
  const opening = connect(formatEndpoint(endpoint), endpoint, access, QUERY_TIMEOUT_MS);
  return parseClusterSlots(await withConnection(opening, (connection) => connection.cluster("SLOTS")), endpoint);
}

/** An empty host means the node that sent the reply. */
export function parseClusterSlots(reply: unknown, asked: Endpoint): ShardRoute[] {
  const shards = new Map<string, { primary: Endpoint; replicas: Endpoint[]; slots: { from: number; to: number }[] }>();
  for (const [from, to, ...nodes] of reply as [number, number, ...[string, number][]][]) {
    const [primary, ...replicas] = nodes.flatMap(([host, port]) =>
      host === "?" ? [] : [{ host: host === "" ? asked.host : host, port }],
    );
    if (primary === undefined) continue;
    const name = formatEndpoint(primary);
    const shard = shards.get(name) ?? { primary, replicas, slots: [] };
    shard.slots.push({ from, to });
    shards.set(name, shard);
  }
  return [...shards.values()];
}

/** Without the pause, queries would slow a failover down. */
const PAUSE_MS = 50;

/** Sends only one query at a time. If a request arrives during a query, one more query follows. */
export class RouteRefresher {
  #running: Promise<void> | undefined;
  #isWanted = false;
  #isStopped = false;

  constructor(
    private readonly locate: DiscoverRoutes,
    private readonly apply: (routes: readonly ShardRoute[]) => void,
  ) {}

  requestRefresh(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** A getter, because TypeScript would assume after an `await` that a field still has its earlier value. */
  get #isOver(): boolean {
    return this.#isStopped;
  }

  get #isAwaited(): boolean {
    return this.#isWanted && !this.#isStopped;
  }

  async #run(): Promise<void> {
    do {
      this.#isWanted = false;
      try {
        const routes = await this.locate();
        if (!this.#isOver) this.apply(routes);
      } catch {
        // No node replied. Until the next reading of the routes, requests wait or time out.
        this.#isWanted = true;
      }
      await sleep(PAUSE_MS, undefined, { ref: false });
    } while (this.#isAwaited);
  }
}
