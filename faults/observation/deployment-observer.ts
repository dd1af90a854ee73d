import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../../valkey/connection";
import { type DeploymentNode, nodeNameAt } from "../../valkey/node";
import { hasPrimaryRole, parseInfo } from "../../valkey/topology/replies";
import { countSlots, parseRange } from "../../valkey/topology/slots";
import { type Dialer, ConnectionPool } from "../writes/connection-pool";
import type { ObservedNodeState, StateChange, ExpectedTopology } from "./observed-states";
import {
  followService,
  isServing,
  isRedundant,
  isZoneSafe,
  seesAllSlotsServed,
  SILENT,
  stateName,
} from "./observed-states";

/** Large clusters are polled less often, because replies cost the servers CPU time. */
const POLL_MS = 50;
const POLL_MS_PER_NODE = 3;
/** Time without a reply after which a node counts as silent, milliseconds. */
const REPLY_TIMEOUT_MS = 400;

/** In milliseconds of performance.now; undefined if there was no such moment. */
export interface LastUnhealthyTimes {
  readonly notServing: number | undefined;
  readonly notRedundant: number | undefined;
  readonly notZoneSafe: number | undefined;
}

const NEVER_UNHEALTHY: LastUnhealthyTimes = {
  notServing: undefined,
  notRedundant: undefined,
  notZoneSafe: undefined,
};

export class DeploymentObserver {
  readonly #states = new Map<string, ObservedNodeState>();
  readonly #changes: StateChange[] = [];
  #last: LastUnhealthyTimes = NEVER_UNHEALTHY;
  readonly #connections: ConnectionPool;
  readonly #stopped = new AbortController();
  readonly #watched: string[] = [];
  #loops: Promise<void>[] = [];

  constructor(
    private readonly expected: () => ExpectedTopology,
    private readonly nodes: () => readonly DeploymentNode[],
    dial: Dialer,
  ) {
    this.#connections = new ConnectionPool(dial);
    // There is one listener per node, and Node.js warns if there are more than ten.
    setMaxListeners(0, this.#stopped.signal);
  }

  async start(): Promise<void> {
    await Promise.all(this.nodes().map((node) => this.#poll(node.name)));
    this.watchNewNodes();
  }

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
    this.#connections.close();
    await Promise.all(this.#loops);
    this.#loops = [];
  }

  get isServing(): boolean {
    return isServing(this.#current(), this.expected());
  }

  get isRedundant(): boolean {
    return isRedundant(this.#current(), this.expected());
  }

  get lastUnhealthy(): LastUnhealthyTimes {
    return this.#last;
  }

  state(name: string): ObservedNodeState {
    return this.#current().get(name) ?? SILENT;
  }

  changes(fromMs: number): StateChange[] {
    return this.#changes.map((change) => ({ ...change, atMs: change.atMs - fromMs }));
  }

  /** This method is called right before the fault. */
  resetLastUnhealthy(): void {
    this.#last = NEVER_UNHEALTHY;
  }

  /** A method, because TypeScript would assume that the flag cannot change during an `await`. */
  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  #current(): Map<string, ObservedNodeState> {
    const states = new Map(this.nodes().map(({ name }) => [name, this.#states.get(name) ?? SILENT]));
    return this.expected().mode === "replication" ? followService(states) : states;
  }

  async #watch(name: string): Promise<void> {
    const { signal } = this.#stopped;
    const everyMs = POLL_MS + POLL_MS_PER_NODE * this.nodes().length;
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
      await this.#poll(name);
    }
  }

  async #poll(name: string): Promise<void> {
    if (this.#isStopped()) return;
    const node = this.nodes().find((each) => each.name === name);
    const state = node === undefined ? SILENT : await this.#requestInTime(node);
    if (this.#isStopped()) return;
    const previous = this.#states.get(name);
    this.#states.set(name, state);
    const { mode } = this.expected();
    const current = stateName(state, mode);
    if (previous === undefined || stateName(previous, mode) !== current)
      this.#changes.push({ node: name, atMs: performance.now(), state: current });
    this.#updateLastUnhealthy();
  }

  #updateLastUnhealthy(): void {
    const now = performance.now();
    const expected = this.expected();
    const states = this.#current();
    const zones = new Map(this.nodes().map((node) => [node.name, node.zone ?? ""]));
    const last = this.#last;
    this.#last = {
      notServing: isServing(states, expected) ? last.notServing : now,
      notRedundant: isRedundant(states, expected) ? last.notRedundant : now,
      notZoneSafe: isZoneSafe(states, expected, zones) ? last.notZoneSafe : now,
    };
  }

  #requestInTime(node: DeploymentNode): Promise<ObservedNodeState> {
    return Promise.race([this.#request(node).catch(() => SILENT), sleep(REPLY_TIMEOUT_MS, SILENT)]);
  }

  async #request({ endpoint }: DeploymentNode): Promise<ObservedNodeState> {
    const connection = await this.#connections.connectionTo(endpoint);
    const isCluster = this.expected().mode === "cluster";
    const [replicationText, clusterText, nodesText] = await Promise.all([
      connection.info("replication"),
      isCluster ? connection.cluster("INFO") : "",
      isCluster ? ownLine(connection) : "",
    ]);
    const replication = parseInfo(replicationText);
    const isPrimary = hasPrimaryRole(replication);
    const primaryHost = replication.get("master_host") ?? "";
    const primaryPort = Number(replication.get("master_port"));
    return {
      role: isPrimary ? "primary" : "replica",
      follows: isPrimary ? undefined : nodeNameAt(this.nodes(), primaryHost, primaryPort),
      linkUp: replication.get("master_link_status") === "up",
      ok: !isCluster || seesAllSlotsServed(parseInfo(clusterText)),
      slots: countOwnSlots(nodesText),
    };
  }
}

async function ownLine(connection: Connection): Promise<string> {
  const text = String(await connection.cluster("NODES"));
  return text.split("\n").find((line) => line.includes("myself")) ?? "";
}

/** After the eight fixed fields of its own line. A field that begins with `[` is a slot that is being migrated. */
function countOwnSlots(line: string): number {
  const fields = line.split(" ").slice(8);
  return countSlots(fields.filter((field) => /^\d/.test(field)).map(parseRange));
}
