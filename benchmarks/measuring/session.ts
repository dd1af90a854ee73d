/** A deployment under measurement: connections to all its nodes, the user of the load generator, the keys in place. */
import type { Connection } from "../../valkey/connection";
import { openConnections } from "../../valkey/connections";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { BadInput, Failure } from "../../lib/errors";
import type { Shard } from "../../valkey/verification/shards";
import type { NamedTest, Prefill } from "../workloads/named-tests";
import type { PrefillSize, PrimaryNode } from "../workloads/prefill";
import { countKeys, prefill, hasRunEmpty, removeKeys } from "../workloads/prefill";
import type { BenchmarkUser } from "../load/benchmark-user";
import { createBenchmarkUser, removeBenchmarkUser } from "../load/benchmark-user";
import type { MeasuredNode } from "./measure";

/** A deployment that has passed verification, with the shards found there. */
export interface VerifiedDeployment {
  readonly deployment: Deployment;
  readonly shards: readonly Shard[];
}

type Family = Exclude<Prefill, { kind: "functions" }>["family"] | "functions";

/** Somebody's servers: keys they have already are theirs. */
interface Foreign {
  /** Take the benchmark's names all the same. */
  readonly overwrite: boolean;
}

export class Session {
  /** What is in place now, by family. */
  readonly #inPlace = new Map<Family, { readonly what: Prefill; readonly size: PrefillSize }>();

  private constructor(
    readonly deployment: Deployment,
    /** All nodes, with the roles that verification found. */
    readonly nodes: readonly MeasuredNode[],
    private readonly targets: readonly PrimaryNode[],
    /** The first of the primaries. */
    readonly primary: PrimaryNode,
    /** The first primary's. */
    readonly endpoint: Endpoint,
    /** Undefined where the servers want no password. */
    readonly user: BenchmarkUser | undefined,
    private readonly foreign: Foreign | undefined,
  ) {}

  /** @throws Failure when a node cannot be reached or lets no user be made */
  static async open({ deployment, shards }: VerifiedDeployment, foreign?: Foreign): Promise<Session> {
    const connections = await openConnections(deployment);
    try {
      const nodes = [...connections].map(([node, connection]): MeasuredNode => ({
        name: node.name,
        role: roleIn(shards, node),
        connection,
      }));
      const targets = shards.flatMap((shard) => targetOf(shard, connections, deployment));
      const first = [...connections.keys()].find(({ name }) => name === shards[0]?.primary);
      const [primary] = targets;
      if (first === undefined || primary === undefined || targets.length !== shards.length)
        throw new Failure(`${deployment.name} has no primary to send to`);
      const user = deployment.access.password === undefined ? undefined : await createBenchmarkUser(nodes);
      return new Session(deployment, nodes, targets, primary, first.endpoint, user, foreign);
    } catch (error) {
      for (const connection of connections.values()) connection.disconnect();
      throw error;
    }
  }

  get primaryCount(): number {
    return this.targets.length;
  }

  /**
   * Puts in place what the test needs, where it is not there yet.
   * @throws BadInput when somebody's servers have keys of those names
   */
  async prepareKeys(test: Pick<NamedTest, "prefill">, size: PrefillSize, signal: AbortSignal): Promise<void> {
    const what = test.prefill;
    if (what === undefined) return;
    const present = this.#inPlace.get(familyOf(what));
    // A stock is taken away after each test, so its size says nothing of what is there.
    const keys = (each: PrefillSize): unknown => [each.keySpace, each.dataSize];
    if (
      present !== undefined &&
      JSON.stringify([present.what, keys(present.size)]) === JSON.stringify([what, keys(size)])
    )
      return;
    if (present !== undefined) await this.#remove(familyOf(what));
    if (this.foreign?.overwrite === false) await this.#refuseExisting(what, size);
    // On record before it is done: what is half in place when stopped must be removed as well.
    this.#inPlace.set(familyOf(what), { what, size });
    await prefill(this.targets, what, size, signal);
  }

  /**
   * Takes away what a test left behind that is not as it was before.
   * @returns whether the test had used up what it takes from
   */
  async removeChangedKeys(test: NamedTest, size: PrefillSize): Promise<boolean> {
    if (test.leaves === "same" || test.prefill === undefined) return false;
    const empty = await hasRunEmpty(this.targets, test.prefill, size);
    await this.#remove(familyOf(test.prefill));
    return empty;
  }

  /** Removes the load generator's user, the keys where they are on somebody's servers, and closes all connections. */
  async close(): Promise<void> {
    try {
      if (this.user !== undefined) await removeBenchmarkUser(this.nodes, this.user);
      if (this.foreign !== undefined) for (const family of [...this.#inPlace.keys()]) await this.#remove(family);
    } finally {
      for (const { connection } of this.nodes) connection.disconnect();
    }
  }

  async #refuseExisting(what: Prefill, size: PrefillSize): Promise<void> {
    const found = await countKeys(this.targets, what, size);
    if (found > 0) {
      throw new BadInput(this.deployment.name, [
        `${found} keys of the names valkey-benchmark uses (${familyOf(what)}…) are there already; benchmarking would overwrite them and remove them afterwards. Remove them, or say --overwrite`,
      ]);
    }
  }

  async #remove(family: Family): Promise<void> {
    const present = this.#inPlace.get(family);
    if (present === undefined) return;
    await removeKeys(this.targets, present.what, present.size);
    this.#inPlace.delete(family);
  }
}

function roleIn(shards: readonly Shard[], { name }: DeploymentNode): MeasuredNode["role"] {
  return shards.some(({ primary }) => primary === name) ? "primary" : "replica";
}

function targetOf(
  shard: Shard,
  connections: ReadonlyMap<DeploymentNode, Connection>,
  { mode }: Deployment,
): PrimaryNode[] {
  const found = [...connections].find(([node]) => node.name === shard.primary);
  if (found === undefined) return [];
  const [node, connection] = found;
  return [
    {
      name: node.name,
      connection,
      slots: mode === "cluster" ? shard.slots : undefined,
      replicas: shard.replicas.length,
    },
  ];
}

function familyOf(what: Prefill): Family {
  return what.kind === "functions" ? "functions" : what.family;
}
