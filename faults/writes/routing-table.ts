import { setTimeout as sleep } from "node:timers/promises";
import { compact } from "../../lib/compact";
import { type DeploymentNode, type Endpoint, type Mode, formatEndpoint } from "../../valkey/node";
import { type ClusterView, ViewParser } from "../../valkey/topology/cluster-view";
import { hasPrimaryRole, infoNumber, parseInfo } from "../../valkey/topology/replies";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import { type Dialer, ConnectionPool } from "./connection-pool";

/** Milliseconds. After an error the next refresh comes earlier, but at least SOON_MS after the previous one. */
const REFRESH_MS = 250;
const SOON_MS = 25;
/** The search opens the connections, which takes longest. */
const FIRST_SEARCH_MS = 10_000;
/** More than one node is asked, because a node may have failed. */
const NODES_PER_REFRESH = 3;

export class RoutingTable {
  /** In replication mode, only the first entry is used. */
  readonly #owners: ({ readonly endpoint: Endpoint; readonly epoch: number } | undefined)[] = [];
  /** By node ID, as this client reached it: a reply to CLUSTER NODES may contain an old address. */
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #connections: ConnectionPool;
  readonly #parser = new ViewParser();
  readonly #closed = new AbortController();
  #soon = new AbortController();
  #asked = 0;

  /** @param followsAnnounced whether a cluster's nodes are reached at the addresses that they announce, as by other clients */
  constructor(
    private readonly mode: Mode,
    private readonly nodes: () => readonly DeploymentNode[],
    dial: Dialer,
    private readonly followsAnnounced = false,
  ) {
    this.#connections = new ConnectionPool(dial);
  }

  owner(slot: number): Endpoint | undefined {
    return this.#owners[this.#indexOf(slot)]?.endpoint;
  }

  recordMove(slot: number, endpoint: Endpoint): void {
    const index = this.#indexOf(slot);
    this.#owners[index] = { endpoint, epoch: this.#owners[index]?.epoch ?? 0 };
    this.refreshSoon();
  }

  refreshSoon(): void {
    this.#soon.abort();
  }

  /** From the replies of all nodes, then refreshed at intervals until `close`. */
  async open(): Promise<void> {
    if (this.mode === "cluster") await Promise.allSettled(this.nodes().map((node) => this.#askForView(node)));
    else await this.#findPrimary(FIRST_SEARCH_MS);
    void this.#keepRefreshing();
  }

  close(): void {
    this.#closed.abort();
    this.#connections.close();
  }

  #indexOf(slot: number): number {
    return this.mode === "cluster" ? slot : 0;
  }

  async #keepRefreshing(): Promise<void> {
    const { signal } = this.#closed;
    const pause = (ms: number, until: AbortSignal): Promise<unknown> =>
      sleep(ms, undefined, { signal: until }).catch(() => undefined);
    while (!signal.aborted) {
      this.#soon = new AbortController();
      await pause(SOON_MS, signal);
      await pause(REFRESH_MS - SOON_MS, AbortSignal.any([signal, this.#soon.signal]));
      if (this.mode === "cluster") await this.#askSomeNodes();
      else await this.#findPrimary(REFRESH_MS);
    }
  }

  /** Waits only for the first reply, so that a frozen node does not delay the refresh. */
  async #askSomeNodes(): Promise<void> {
    const nodes = this.nodes();
    const count = Math.min(NODES_PER_REFRESH, nodes.length);
    const chosen = compact(Array.from({ length: count }, () => nodes[this.#asked++ % nodes.length]));
    const replies = chosen.map((node) => this.#askForView(node));
    await Promise.race([Promise.any(replies).catch(() => undefined), sleep(REFRESH_MS)]);
    for (const reply of replies) reply.catch(() => undefined);
  }

  async #askForView({ endpoint }: DeploymentNode): Promise<void> {
    const connection = await this.#connections.connectionTo(endpoint);
    this.#applyView(this.#parser.parse(String(await connection.cluster("NODES"))), endpoint);
  }

  /** If there are several, the one with the most replicas, then the one known before. @param limitMs for replies */
  async #findPrimary(limitMs: number): Promise<void> {
    const known = this.owner(0);
    const isKnown = ({ endpoint }: Pick<DeploymentNode, "endpoint">): boolean =>
      known !== undefined && formatEndpoint(endpoint) === formatEndpoint(known);
    const replies = await Promise.all(this.nodes().map(({ endpoint }) => this.#countReplicasInTime(endpoint, limitMs)));
    const primaries = compact(replies);
    const rank = (primary: (typeof primaries)[number]): number => primary.replicas * 2 + Number(isKnown(primary));
    const [best] = primaries.sort((a, b) => rank(b) - rank(a));
    if (best !== undefined) this.#owners[0] = { endpoint: best.endpoint, epoch: 0 };
    // A known primary that does not reply may still be the primary if its address belongs to a node.
    else if (!this.nodes().some(isKnown)) this.#owners[0] = undefined;
  }

  async #countReplicasInTime(
    endpoint: Endpoint,
    limitMs: number,
  ): Promise<{ endpoint: Endpoint; replicas: number } | undefined> {
    const counted = this.#countReplicas(endpoint).catch(() => undefined);
    const replicas = await Promise.race([counted, sleep(limitMs, undefined, { ref: false })]);
    return replicas === undefined ? undefined : { endpoint, replicas };
  }

  async #countReplicas(endpoint: Endpoint): Promise<number | undefined> {
    const connection = await this.#connections.connectionTo(endpoint);
    const info = parseInfo(await connection.info("replication"));
    return hasPrimaryRole(info) ? (infoNumber(info, "connected_slaves") ?? 0) : undefined;
  }

  /** For each slot, the owner with the highest configuration epoch; if equal, the latest one. */
  #applyView({ selfId, topology }: ClusterView, asked: Endpoint): void {
    if (!this.followsAnnounced) this.#endpoints.set(selfId, asked);
    for (const { id, slots, epoch, address } of topology.nodes.values()) {
      const endpoint = this.#endpoints.get(id) ?? address;
      if (endpoint.host === "") continue;
      for (const { from, to } of slots)
        for (let slot = from; slot <= to && slot < SLOT_COUNT; slot++)
          if (epoch >= (this.#owners[slot]?.epoch ?? 0)) this.#owners[slot] = { endpoint, epoch };
    }
  }
}
