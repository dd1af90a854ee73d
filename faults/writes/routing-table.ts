/** Where writes go: what a client of a deployment knows of its primaries, learnt from any node and from redirections. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import type { ClusterView } from "../../valkey/topology/cluster-view";
import { ViewParser } from "../../valkey/topology/cluster-view";
import { infoNumber, parseInfo } from "../../valkey/topology/info";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { Dialer } from "./connection-pool";
import { ConnectionPool } from "./connection-pool";

/** How often a client looks, and how soon again when something went wrong, milliseconds. */
const REFRESH_MS = 250;
const HURRY_MS = 25;
/** Nodes asked at a time when something went wrong: the first may be the one that is gone. */
const ASKED = 3;

interface Owner {
  readonly endpoint: Endpoint;
  readonly epoch: number;
}

export class RoutingTable {
  /** By slot; in replication mode only the first counts. */
  readonly #owners: (Owner | undefined)[] = [];
  /** What nodes are reached by, by id: views may still have addresses that nodes no longer have. */
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #links: ConnectionPool;
  readonly #parser = new ViewParser();
  readonly #stopped = new AbortController();
  #hurry = new AbortController();
  #turn = 0;

  /** @param nodes those there are at the time, as a directory of names would say */
  constructor(
    private readonly mode: Deployment["mode"],
    private readonly nodes: () => readonly DeploymentNode[],
    dial: Dialer,
  ) {
    this.#links = new ConnectionPool(dial);
  }

  /** Who serves a slot, as far as is known; the primary in replication mode. */
  owner(slot: number): Endpoint | undefined {
    return this.#owners[this.mode === "cluster" ? slot : 0]?.endpoint;
  }

  /** A node's word that another serves the slot. */
  recordMove(slot: number, endpoint: Endpoint): void {
    const place = this.mode === "cluster" ? slot : 0;
    this.#owners[place] = { endpoint, epoch: this.#owners[place]?.epoch ?? 0 };
    this.refreshSoon();
  }

  refreshSoon(): void {
    this.#hurry.abort();
  }

  /** Learns once from all, then goes on learning until it is closed. */
  async open(): Promise<void> {
    if (this.mode === "cluster") await Promise.allSettled(this.nodes().map((node) => this.#learn(node)));
    else await this.#findPrimary();
    void this.#keepLearning();
  }

  close(): void {
    this.#stopped.abort();
    this.#links.close();
  }

  async #keepLearning(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#hurry = new AbortController();
      await sleep(HURRY_MS, undefined, { signal }).catch(() => undefined);
      await sleep(REFRESH_MS - HURRY_MS, undefined, { signal: AbortSignal.any([signal, this.#hurry.signal]) }).catch(
        () => undefined,
      );
      if (this.mode === "cluster") await this.#askSome();
      else await this.#findPrimary();
    }
  }

  /** Whoever answers first is enough: one that stands still must not hold up the others. */
  async #askSome(): Promise<void> {
    const all = this.nodes();
    const asked = Array.from({ length: Math.min(ASKED, all.length) }, () => all[this.#turn++ % all.length]).flatMap(
      (node) => (node === undefined ? [] : [this.#learn(node)]),
    );
    await Promise.race([Promise.any(asked).catch(() => undefined), sleep(REFRESH_MS)]);
    for (const each of asked) each.catch(() => undefined);
  }

  async #learn({ endpoint }: DeploymentNode): Promise<void> {
    const connection = await this.#links.connectionTo(endpoint);
    this.#takeView(this.#parser.parse(String(await connection.cluster("NODES"))), endpoint);
  }

  /** Of all nodes that say they are the primary the one with most replicas, the known one where they have as many. */
  async #findPrimary(): Promise<void> {
    const answers = await Promise.all(
      this.nodes().map(async ({ endpoint }) =>
        Promise.race([this.#replicasOf(endpoint).catch(() => undefined), sleep(REFRESH_MS, undefined)]).then(
          (replicas) => ({ endpoint, replicas }),
        ),
      ),
    );
    const known = this.owner(0);
    const rank = ({ endpoint, replicas = 0 }: (typeof answers)[number]): number =>
      replicas * 2 + Number(known !== undefined && formatEndpoint(endpoint) === formatEndpoint(known));
    const [best] = answers.filter(({ replicas }) => replicas !== undefined).sort((a, b) => rank(b) - rank(a));
    const isGone =
      known !== undefined && !this.nodes().some(({ endpoint }) => formatEndpoint(endpoint) === formatEndpoint(known));
    // One that does not answer may still be it.
    if (best !== undefined) this.#owners[0] = { endpoint: best.endpoint, epoch: 0 };
    else if (isGone) this.#owners[0] = undefined;
  }

  /** How many replicas a primary has; undefined where it is none. */
  async #replicasOf(endpoint: Endpoint): Promise<number | undefined> {
    const connection = await this.#links.connectionTo(endpoint);
    const info = parseInfo(await connection.info("replication"));
    return info.get("role") === "master" ? (infoNumber(info, "connected_slaves") ?? 0) : undefined;
  }

  /** A view counts for a slot unless a newer one was seen; of equals the last. */
  #takeView({ selfId, topology }: ClusterView, endpoint: Endpoint): void {
    this.#endpoints.set(selfId, endpoint);
    for (const { id, slots, epoch, address } of topology.nodes.values()) {
      const there = this.#endpoints.get(id) ?? address;
      if (slots.length === 0 || there.host === "") continue;
      for (const { from, to } of slots) {
        for (let slot = from; slot <= to && slot < SLOT_COUNT; slot++)
          if (epoch >= (this.#owners[slot]?.epoch ?? 0)) this.#owners[slot] = { endpoint: there, epoch };
      }
    }
  }
}
