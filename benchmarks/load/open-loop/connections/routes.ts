/** Which server takes a request: by slot and role, as the cluster says it, asked anew when it says otherwise. */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../../../valkey/connection";
import type { Access, Endpoint, Mode } from "../../../../valkey/node";
import { formatEndpoint } from "../../../../valkey/node";
import { Failure, messageOf } from "../../../../lib/errors";
import { SLOT_COUNT } from "../../../../valkey/topology/slots";

/** Servers of one shard. */
export interface ShardRoute {
  readonly primary: Endpoint;
  readonly replicas: readonly Endpoint[];
  /** Inclusive; all of them where there are no slots. */
  readonly slots: readonly { readonly from: number; readonly to: number }[];
}

/** Asks what the routes are now. @throws Failure when nobody can say */
export type DiscoverRoutes = () => Promise<readonly ShardRoute[]>;

export interface RouteDiscoveryOptions {
  readonly mode: Mode;
  /** Known before; the first is the primary where there are no slots, the others its replicas. */
  readonly endpoints: readonly Endpoint[];
  readonly access: Access;
}

const ASK_TIMEOUT_MS = 1_000;

/** Replication stays as it was given; a cluster is asked, one of its nodes after the other until one answers. */
export function routeDiscovery({ mode, endpoints, access }: RouteDiscoveryOptions): DiscoverRoutes {
  const [primary, ...replicas] = endpoints;
  if (primary === undefined) throw new Failure("there are no servers to send to");
  if (mode === "replication")
    return () => Promise.resolve([{ primary, replicas, slots: [{ from: 0, to: SLOT_COUNT - 1 }] }]);
  let known = endpoints;
  return async () => {
    const reasons: string[] = [];
    for (const endpoint of known) {
      try {
        const shards = await slotsOf(endpoint, access);
        // Those that served last are asked first, and those given at the start when they are all gone.
        const serving = shards.flatMap((shard) => [shard.primary, ...shard.replicas]);
        known = [...new Map([...serving, ...endpoints].map((each) => [formatEndpoint(each), each])).values()];
        return shards;
      } catch (error) {
        reasons.push(`${formatEndpoint(endpoint)}: ${messageOf(error)}`);
      }
    }
    throw new Failure(
      `no node of the cluster says which has which slots:\n${reasons.map((reason) => `  - ${reason}`).join("\n")}`,
    );
  };
}

async function slotsOf(endpoint: Endpoint, access: Access): Promise<ShardRoute[]> {
  const connection = await connect(formatEndpoint(endpoint), endpoint, access, ASK_TIMEOUT_MS);
  try {
    return parseClusterSlots(await connection.cluster("SLOTS"), endpoint);
  } finally {
    connection.disconnect();
  }
}

/** A reply to CLUSTER SLOTS; an empty host is that of the node that was asked. Pure. */
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

/** Between two refreshes, so that a failover is not slowed by those who want to hear of it. */
const LEAST_PAUSE_MS = 50;

/** Runs one refresh at a time, and another after it where it was wanted again meanwhile. */
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

  /** Asked after an await, in which they may have come true. */
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
        // Nobody answers: requests wait, and are given up on when their time is over.
        this.#isWanted = true;
      }
      await sleep(LEAST_PAUSE_MS, undefined, { ref: false });
    } while (this.#isAwaited);
  }
}
