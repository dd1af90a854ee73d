import { compact } from "../../lib/compact";
import { Failure } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import { openConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Shard } from "../../valkey/verification/shards";
import { countSlots, SLOT_COUNT } from "../../valkey/topology/slots";
import type { BenchmarkUser } from "../load/benchmark-user";
import { type NeededKeys, type PrefillSize, FUNCTIONS, keyNames } from "../workloads/key-slices";
import type { NamedTest, Prefill } from "../workloads/named-tests";
import { type PrimaryNode, hasRunEmpty, prefill, removeKeys } from "../workloads/prefill";
import type { MeasuredNode } from "./measure";
import { Traces } from "./traces";

export interface VerifiedDeployment {
  readonly deployment: Deployment;
  readonly shards: readonly Shard[];
  /** Outlive the measurements; their maker removes them. @default the user is removed at the end */
  readonly traces?: Traces | undefined;
}

export class Session {
  readonly #written = new Map<string, NeededKeys>();

  private constructor(
    readonly deployment: Deployment,
    /** All nodes, with the roles that verification found. */
    readonly nodes: readonly MeasuredNode[],
    private readonly primaries: readonly PrimaryNode[],
    readonly primary: PrimaryNode,
    readonly endpoint: Endpoint,
    /** User of the load generator; undefined if the servers have no password. */
    readonly user: BenchmarkUser | undefined,
    private readonly traces: Traces,
    private readonly ownsTraces: boolean,
  ) {}

  /** @throws Failure when a node cannot be reached or refuses to create the user */
  static async open({ deployment, shards, traces: given }: VerifiedDeployment): Promise<Session> {
    const traces = given ?? Traces.onOwnServers(deployment);
    const connections = await openConnections(deployment);
    try {
      const nodes = [...connections].map(([{ name }, connection]): MeasuredNode => {
        const shard = shards.find(({ primary, replicas }) => primary === name || replicas.includes(name));
        const isPrimary = shard?.primary === name;
        const slots = isPrimary ? shard.slots : [];
        const slotShare = deployment.mode === "cluster" ? countSlots(slots) / SLOT_COUNT : 1;
        return { name, role: isPrimary ? "primary" : "replica", shard: shard?.primary, slotShare, connection };
      });
      const primaries = compact(shards.map((shard) => primaryOf(shard, connections, deployment)));
      const first = [...connections.keys()].find(({ name }) => name === shards[0]?.primary);
      const [primary] = primaries;
      if (first === undefined || primary === undefined || primaries.length !== shards.length) {
        throw new Failure(`${deployment.name} has a shard without a primary`);
      }
      const user = deployment.access.password === undefined ? undefined : await traces.user(nodes);
      return new Session(deployment, nodes, primaries, primary, first.endpoint, user, traces, given === undefined);
    } catch (error) {
      for (const connection of connections.values()) connection.disconnect();
      if (given === undefined) await traces.remove(undefined, 0);
      throw error;
    }
  }

  get primaryCount(): number {
    return this.primaries.length;
  }

  async prepareKeys(test: Pick<NamedTest, "prefill">, size: PrefillSize, signal: AbortSignal): Promise<void> {
    const what = test.prefill;
    if (what === undefined) return;
    const family = familyOf(what);
    const written = this.#written.get(family);
    if (written !== undefined && isSameKeys(written, { what, size })) return;
    if (written !== undefined) await this.#remove(family);
    // The keys are recorded before they are written, so that the keys of an interrupted prefill are removed as well.
    await this.traces.addKeys({ what, size }, this.primaries);
    this.#written.set(family, { what, size });
    await prefill(this.primaries, what, size, signal);
  }

  /** @returns whether the test had removed all elements of the collections that it uses */
  async removeChangedKeys(test: NamedTest, size: PrefillSize): Promise<boolean> {
    if (test.leaves === "same" || test.prefill === undefined) return false;
    const ranEmpty = await hasRunEmpty(this.primaries, { what: test.prefill, size });
    await this.#remove(familyOf(test.prefill));
    return ranEmpty;
  }

  async close(): Promise<void> {
    for (const { connection } of this.nodes) connection.disconnect();
    if (this.ownsTraces) await this.traces.remove(undefined, 0);
  }

  async #remove(family: string): Promise<void> {
    const written = this.#written.get(family);
    if (written === undefined) return;
    const names = keyNames(written, this.deployment.mode === "cluster");
    await Promise.all(this.primaries.map((primary) => removeKeys(primary, names)));
    this.#written.delete(family);
  }
}

/** Elements for tests that remove them are not compared, because the session removes them after each test. */
function isSameKeys(one: NeededKeys, other: NeededKeys): boolean {
  const identity = ({ what, size }: NeededKeys): string => JSON.stringify([what, size.keySpace, size.dataSize]);
  return identity(one) === identity(other);
}

function primaryOf(
  { primary, slots, replicas }: Shard,
  connections: ReadonlyMap<DeploymentNode, Connection>,
  { mode }: Deployment,
): PrimaryNode | undefined {
  const found = [...connections].find(([node]) => node.name === primary);
  if (found === undefined) return undefined;
  const [{ name }, connection] = found;
  return { name, connection, slots: mode === "cluster" ? slots : undefined, replicas: replicas.length };
}

function familyOf(what: Prefill): string {
  return what.kind === "functions" ? FUNCTIONS : what.family;
}
