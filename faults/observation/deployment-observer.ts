/** Watches every node of a deployment: asks each in turn what it is and what it sees, from before a fault until all is well. */
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../../valkey/connection";
import type { DeploymentNode } from "../../valkey/node";
import { nodeNameAt } from "../../valkey/node";
import { parseInfo } from "../../valkey/topology/info";
import { countSlots, parseRange } from "../../valkey/topology/slots";
import type { Dialer } from "../writes/connection-pool";
import { ConnectionPool } from "../writes/connection-pool";
import type { ObservedNodeState, StateChange, ExpectedTopology } from "./observed-states";
import { isServing, isRedundant, isZoneSafe, seesAllSlotsServed, SILENT, stateName } from "./observed-states";

/** Milliseconds between two looks at a node, more of them where there are many nodes: the answers cost the servers time. */
const LOOK_MS = 50;
const LOOK_MS_PER_NODE = 3;
/** A node that has not answered for so long is silent, milliseconds. */
const SILENCE_MS = 400;

/** The last moment at which something was not so, milliseconds of performance.now; undefined where it always was. */
export interface LastUnhealthyTimes {
  notServing: number | undefined;
  notRedundant: number | undefined;
  notZoneSafe: number | undefined;
}

export class DeploymentObserver {
  readonly #states = new Map<string, ObservedNodeState>();
  readonly #changes: StateChange[] = [];
  readonly #last: LastUnhealthyTimes = { notServing: undefined, notRedundant: undefined, notZoneSafe: undefined };
  readonly #links: ConnectionPool;
  readonly #stopped = new AbortController();
  readonly #watched: string[] = [];
  #loops: Promise<void>[] = [];

  constructor(
    private readonly wanted: () => ExpectedTopology,
    private readonly nodes: () => readonly DeploymentNode[],
    dial: Dialer,
  ) {
    this.#links = new ConnectionPool(dial);
    // One for each node, however many there are.
    setMaxListeners(0, this.#stopped.signal);
  }

  /** Returns when every node has been asked once. */
  async start(): Promise<void> {
    await Promise.all(this.nodes().map((node) => this.#look(node.name)));
    this.watchNewNodes();
  }

  /** Watches nodes that have come since. */
  watchNewNodes(): void {
    const watched = new Set(this.#watched);
    for (const { name } of this.nodes()) {
      if (watched.has(name)) continue;
      this.#watched.push(name);
      this.#loops.push(this.#watch(name));
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#links.close();
    await Promise.all(this.#loops);
    this.#loops = [];
  }

  get isServing(): boolean {
    return isServing(this.#current(), this.wanted());
  }

  get isRedundant(): boolean {
    return isRedundant(this.#current(), this.wanted());
  }

  get lastUnhealthy(): Readonly<LastUnhealthyTimes> {
    return this.#last;
  }

  /** Of this node now. */
  state(name: string): ObservedNodeState {
    return this.#states.get(name) ?? SILENT;
  }

  /** All changes, times from this moment on. */
  changes(fromMs: number): StateChange[] {
    return this.#changes.map((change) => ({ ...change, atMs: change.atMs - fromMs }));
  }

  /** Forgets troubles up to now: they were not the fault's. */
  resetLastUnhealthy(): void {
    Object.assign(this.#last, { notOk: undefined, notRedundant: undefined, notZoneSafe: undefined });
  }

  /** A call, for it changes while something is awaited. */
  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  #current(): Map<string, ObservedNodeState> {
    return new Map(this.nodes().map(({ name }) => [name, this.state(name)]));
  }

  async #watch(name: string): Promise<void> {
    const { signal } = this.#stopped;
    const everyMs = LOOK_MS + LOOK_MS_PER_NODE * this.nodes().length;
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
      await this.#look(name);
    }
  }

  async #look(name: string): Promise<void> {
    if (this.#isStopped()) return;
    const node = this.nodes().find((each) => each.name === name);
    const state =
      node === undefined
        ? SILENT
        : await Promise.race([this.#ask(node).catch(() => SILENT), sleep(SILENCE_MS, SILENT)]);
    if (this.#isStopped()) return;
    const before = this.#states.get(name);
    this.#states.set(name, state);
    const { mode } = this.wanted();
    const said = stateName(state, mode);
    if (before === undefined || stateName(before, mode) !== said)
      this.#changes.push({ node: name, atMs: performance.now(), state: said });
    this.#judge();
  }

  #judge(): void {
    const now = performance.now();
    const wanted = this.wanted();
    const states = this.#current();
    const zones = new Map(this.nodes().map((node) => [node.name, node.zone ?? ""]));
    if (!isServing(states, wanted)) this.#last.notServing = now;
    if (!isRedundant(states, wanted)) this.#last.notRedundant = now;
    if (!isZoneSafe(states, wanted, zones)) this.#last.notZoneSafe = now;
  }

  async #ask({ endpoint }: DeploymentNode): Promise<ObservedNodeState> {
    const connection = await this.#links.connectionTo(endpoint);
    const isCluster = this.wanted().mode === "cluster";
    const [replicationText, clusterText, nodesText] = await Promise.all([
      connection.info("replication"),
      isCluster ? connection.cluster("INFO") : "",
      isCluster ? this.#ownLine(connection) : "",
    ]);
    const replication = parseInfo(replicationText);
    const role = replication.get("role") === "master" ? "primary" : "replica";
    return {
      role,
      follows:
        role === "replica"
          ? nodeNameAt(this.nodes(), replication.get("master_host") ?? "", Number(replication.get("master_port")))
          : undefined,
      linkUp: replication.get("master_link_status") === "up",
      ok: !isCluster || seesAllSlotsServed(parseInfo(clusterText)),
      slots: slotsIn(nodesText),
    };
  }

  async #ownLine(connection: Connection): Promise<string> {
    const text = String(await connection.cluster("NODES"));
    return text.split("\n").find((line) => line.includes("myself")) ?? "";
  }
}

function slotsIn(line: string): number {
  const words = line
    .split(" ")
    .slice(8)
    .filter((word) => /^\d/.test(word));
  return countSlots(words.map(parseRange));
}
