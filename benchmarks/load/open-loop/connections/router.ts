import { type NodeAccess, type Endpoint, type Mode, formatEndpoint } from "../../../../valkey/node";
import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import type { ReadFrom } from "../../../workloads/mixed-workload";
import { type LoadNodeEvents, LoadNode } from "./load-node";
import type { Random } from "../../../../lib/statistics/random";
import type { TimedRequest } from "../requests/request";
import type { ShardRoute } from "./routes";

interface RouterOptions {
  readonly mode: Mode;
  readonly access: NodeAccess;
  /** Total number, divided evenly among the servers that receive requests at the start. */
  readonly clients: number;
  readonly pipeline: number;
  readonly readFrom: ReadFrom;
}

interface Shard {
  readonly primary: LoadNode;
  readonly replicas: readonly LoadNode[];
}

export class Router {
  readonly #nodes = new Map<string, LoadNode>();
  readonly #shards: (Shard | undefined)[] = new Array<undefined>(SLOT_COUNT).fill(undefined);
  readonly #connections: number;

  constructor(
    private readonly options: RouterOptions,
    routes: readonly ShardRoute[],
    private readonly events: LoadNodeEvents,
    private readonly random: Random,
  ) {
    this.#connections = Math.max(1, Math.floor(options.clients / this.#used(routes).size));
    this.applyRoutes(routes);
  }

  get nodes(): readonly LoadNode[] {
    return [...this.#nodes.values()];
  }

  /** Queued requests move to the servers of the new routes, and servers without a route are disconnected. */
  applyRoutes(routes: readonly ShardRoute[]): void {
    const used = this.#used(routes);
    for (const shard of routes) {
      const found: Shard = {
        primary: this.#node(shard.primary),
        replicas: this.options.readFrom === "primary" ? [] : shard.replicas.map((each) => this.#node(each)),
      };
      for (const { from, to } of shard.slots) this.#shards.fill(found, from, to + 1);
    }
    for (const [name, node] of this.#nodes) {
      const waiting = node.takeQueued();
      for (const request of waiting) this.route(request)?.enqueue(request);
      if (used.has(name)) continue;
      this.#nodes.delete(name);
      node.close();
    }
    for (const node of this.#nodes.values()) node.sendQueued();
  }

  setSlotOwner(slot: number, endpoint: Endpoint): LoadNode {
    const primary = this.#node(endpoint);
    if (this.options.mode === "cluster")
      this.#shards[slot] = {
        primary,
        replicas: (this.#shards[slot]?.replicas ?? []).filter((each) => each !== primary),
      };
    return primary;
  }

  nodeAt(endpoint: Endpoint): LoadNode {
    return this.#node(endpoint);
  }

  route({ operation: { slot, kind } }: TimedRequest): LoadNode | undefined {
    const shard = this.#shards[slot];
    if (shard === undefined || kind === "write" || shard.replicas.length === 0) return shard?.primary;
    const all = this.options.readFrom === "any" ? shard.replicas.length + 1 : shard.replicas.length;
    return shard.replicas[this.random.below(all)] ?? shard.primary;
  }

  close(): void {
    for (const node of this.#nodes.values()) node.close();
  }

  #used(routes: readonly ShardRoute[]): ReadonlySet<string> {
    return new Set(
      routes
        .flatMap(({ primary, replicas }) => [primary, ...(this.options.readFrom === "primary" ? [] : replicas)])
        .map(formatEndpoint),
    );
  }

  #node(endpoint: Endpoint): LoadNode {
    const name = formatEndpoint(endpoint);
    let node = this.#nodes.get(name);
    if (node === undefined) {
      const { mode, access, pipeline, readFrom } = this.options;
      node = new LoadNode(
        {
          endpoint,
          access,
          connections: this.#connections,
          pipeline,
          readsFromReplica: mode === "cluster" && readFrom !== "primary",
        },
        this.events,
      );
      this.#nodes.set(name, node);
    }
    return node;
  }
}
