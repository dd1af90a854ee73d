/** Where writes go: what a client of a deployment knows of its primaries, learnt from any node and from redirections. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment, DeploymentNode, Endpoint } from "../deployment";
import { formatEndpoint } from "../deployment";
import type { ClusterView } from "../topology/cluster-view";
import { ViewParser } from "../topology/cluster-view";
import { infoNumber, parseInfo } from "../topology/info";
import { SLOT_COUNT } from "../topology/slots";
import type { Dialer } from "./links";
import { Links } from "./links";

/** How often a client looks, and how soon again when something went wrong, milliseconds. */
const REFRESH_MS = 250;
const HURRY_MS = 25;
/** Nodes asked at a time when something went wrong: the first may be the one that is gone. */
const ASKED = 3;

interface Owner {
  readonly endpoint: Endpoint;
  readonly epoch: number;
}

export class Routes {
  /** By slot; in replication mode only the first counts. */
  readonly #owners: (Owner | undefined)[] = [];
  /** What nodes are reached by, by id: views may still have addresses that nodes no longer have. */
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #links: Links;
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
    this.#links = new Links(dial);
  }

  /** Who serves a slot, as far as is known; the primary in replication mode. */
  owner(slot: number): Endpoint | undefined {
    return this.#owners[this.mode === "cluster" ? slot : 0]?.endpoint;
  }

  /** A node's word that another serves the slot. */
  moved(slot: number, endpoint: Endpoint): void {
    const place = this.mode === "cluster" ? slot : 0;
    this.#owners[place] = { endpoint, epoch: this.#owners[place]?.epoch ?? 0 };
    this.refreshSoon();
  }

  refreshSoon(): void {
    this.#hurry.abort();
  }

  /** Learns once from all, then goes on learning until it is closed. */
  async open(): Promise<void> {
    await Promise.allSettled(this.nodes().map((node) => this.#learn(node)));
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
      await sleep(REFRESH_MS - HURRY_MS, undefined, { signal: AbortSignal.any([signal, this.#hurry.signal]) }).catch(() => undefined);
      const all = this.nodes();
      const count = this.mode === "cluster" ? Math.min(ASKED, all.length) : all.length;
      // Whoever answers first is enough: one that stands still must not hold up the others.
      const asked = Array.from({ length: count }, () => all[this.#turn++ % all.length]).flatMap((node) => (node === undefined ? [] : [this.#learn(node)]));
      await Promise.race([Promise.any(asked).catch(() => undefined), sleep(REFRESH_MS)]);
      for (const each of asked) each.catch(() => undefined);
    }
  }

  async #learn({ endpoint }: DeploymentNode): Promise<void> {
    const connection = await this.#links.to(endpoint);
    if (this.mode === "cluster") {
      this.#takeView(this.#parser.parse(String(await connection.cluster("NODES"))), endpoint);
      return;
    }
    const info = parseInfo(await connection.info("replication"));
    if (info.get("role") === "master") this.#takePrimary(endpoint, infoNumber(info, "connected_slaves") ?? 0);
    else if (formatEndpoint(endpoint) === formatEndpoint(this.owner(0) ?? { host: "", port: 0 })) this.#owners[0] = undefined;
  }

  /** A view counts for a slot unless a newer one was seen; of equals the last. */
  #takeView({ selfId, topology }: ClusterView, endpoint: Endpoint): void {
    this.#endpoints.set(selfId, endpoint);
    for (const { id, slots, epoch, address } of topology.nodes.values()) {
      const there = this.#endpoints.get(id) ?? address;
      if (slots.length === 0 || there.host === "") continue;
      for (const { from, to } of slots) {
        for (let slot = from; slot <= to && slot < SLOT_COUNT; slot++) if (epoch >= (this.#owners[slot]?.epoch ?? 0)) this.#owners[slot] = { endpoint: there, epoch };
      }
    }
  }

  /** Where two nodes say that they are the primary, the one with more replicas is believed. */
  #takePrimary(endpoint: Endpoint, replicas: number): void {
    const known = this.#owners[0];
    const same = known !== undefined && formatEndpoint(known.endpoint) === formatEndpoint(endpoint);
    if (known === undefined || same || replicas > known.epoch) this.#owners[0] = { endpoint, epoch: replicas };
  }
}
