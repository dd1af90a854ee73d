/** One deployment during a series of measurements. */
import { compact } from "../../lib/compact";
import { BadInput, Failure } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import { openConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Shard } from "../../valkey/verification/shards";
import type { BenchmarkUser } from "../load/benchmark-user";
import { createBenchmarkUser, removeBenchmarkUser } from "../load/benchmark-user";
import type { PrefillSize } from "../workloads/key-slices";
import type { NamedTest, Prefill } from "../workloads/named-tests";
import type { PrimaryNode } from "../workloads/prefill";
import { countKeys, hasRunEmpty, prefill, removeKeys } from "../workloads/prefill";
import type { MeasuredNode } from "./measure";

/** A deployment that passed verification, with the shards that the verification found. */
export interface VerifiedDeployment {
  readonly deployment: Deployment;
  readonly shards: readonly Shard[];
  /**
   * Rules for the keys on servers that existed before the run; undefined for servers that the run started. On servers
   * that existed before, the run removes its keys at its end.
   */
  readonly externalKeys?: ExternalKeys | undefined;
}

/** Rules for keys on external servers, which the run did not start. */
export interface ExternalKeys {
  /** Whether to overwrite and remove existing keys whose names the benchmark uses. If false, such keys are an error. */
  readonly overwrite: boolean;
}

/**
 * Beginning of the names of keys with the same purpose, such as `counter`. `functions` stands for function libraries.
 */
type Family = Exclude<Prefill, { kind: "functions" }>["family"] | "functions";

/** Keys that a session has written. */
interface WrittenKeys {
  readonly what: Prefill;
  readonly size: PrefillSize;
}

/**
 * A deployment during measurements, with connections to all nodes, the load generator's user, and the keys written so
 * far.
 */
export class Session {
  readonly #written = new Map<Family, WrittenKeys>();

  private constructor(
    readonly deployment: Deployment,
    /** All nodes, with the roles that verification found. */
    readonly nodes: readonly MeasuredNode[],
    private readonly primaries: readonly PrimaryNode[],
    /** The first primary. */
    readonly primary: PrimaryNode,
    /** Endpoint of the first primary. */
    readonly endpoint: Endpoint,
    /** User of the load generator; undefined if the servers have no password. */
    readonly user: BenchmarkUser | undefined,
    private readonly externalKeys: ExternalKeys | undefined,
  ) {}

  /**
   * Connects to every node and creates the load generator's user.
   * @throws Failure when a node cannot be reached or refuses to create the user
   */
  static async open({ deployment, shards, externalKeys }: VerifiedDeployment): Promise<Session> {
    const connections = await openConnections(deployment);
    try {
      const nodes = [...connections].map(([{ name }, connection]) => ({
        name,
        role: roleOf(name, shards),
        connection,
      }));
      const primaries = compact(shards.map((shard) => primaryOf(shard, connections, deployment)));
      const first = [...connections.keys()].find(({ name }) => name === shards[0]?.primary);
      const [primary] = primaries;
      if (first === undefined || primary === undefined || primaries.length !== shards.length) {
        throw new Failure(`${deployment.name} has a shard without a primary`);
      }
      const user = deployment.access.password === undefined ? undefined : await createBenchmarkUser(nodes);
      return new Session(deployment, nodes, primaries, primary, first.endpoint, user, externalKeys);
    } catch (error) {
      for (const connection of connections.values()) connection.disconnect();
      throw error;
    }
  }

  get primaryCount(): number {
    return this.primaries.length;
  }

  /**
   * Writes the keys that a test needs, unless the session has already written them.
   * @throws BadInput when external servers already have keys with these names
   */
  async prepareKeys(test: Pick<NamedTest, "prefill">, size: PrefillSize, signal: AbortSignal): Promise<void> {
    const what = test.prefill;
    if (what === undefined) return;
    const family = familyOf(what);
    const written = this.#written.get(family);
    if (written !== undefined && isSameKeys(written, { what, size })) return;
    if (written !== undefined) await this.#remove(family);
    if (this.externalKeys?.overwrite === false) await this.#refuseExistingKeys(what, size);
    // The keys are recorded before they are written, so that the keys of an interrupted prefill are removed as well.
    this.#written.set(family, { what, size });
    await prefill(this.primaries, what, size, signal);
  }

  /**
   * Removes the keys that a test has changed.
   * @returns whether the test had removed all elements of the collections that it uses
   */
  async removeChangedKeys(test: NamedTest, size: PrefillSize): Promise<boolean> {
    if (test.leaves === "same" || test.prefill === undefined) return false;
    const ranEmpty = await hasRunEmpty(this.primaries, test.prefill, size);
    await this.#remove(familyOf(test.prefill));
    return ranEmpty;
  }

  /**
   * Removes the load generator's user and, on external servers, the keys that the session wrote. Then closes all
   * connections.
   */
  async close(): Promise<void> {
    try {
      if (this.user !== undefined) await removeBenchmarkUser(this.nodes, this.user);
      if (this.externalKeys !== undefined) for (const family of [...this.#written.keys()]) await this.#remove(family);
    } finally {
      for (const { connection } of this.nodes) connection.disconnect();
    }
  }

  async #refuseExistingKeys(what: Prefill, size: PrefillSize): Promise<void> {
    const found = await countKeys(this.primaries, what, size);
    if (found === 0) return;
    throw BadInput.of(
      this.deployment.name,
      "keys-exist",
      `${found} keys with names that valkey-benchmark uses (${familyOf(what)}…) exist already; ` +
        "a benchmark would overwrite these keys and remove them afterwards. Remove the keys, or allow the benchmark to " +
        "overwrite them: set --overwrite, or `overwriteKeys: true` of the external target",
    );
  }

  async #remove(family: Family): Promise<void> {
    const written = this.#written.get(family);
    if (written === undefined) return;
    await removeKeys(this.primaries, written.what, written.size);
    this.#written.delete(family);
  }
}

/**
 * Whether both values describe the same keys. The numbers of elements for tests that remove elements are not compared,
 * because the session removes these elements after each test.
 */
function isSameKeys(one: WrittenKeys, other: WrittenKeys): boolean {
  const identity = ({ what, size }: WrittenKeys): string => JSON.stringify([what, size.keySpace, size.dataSize]);
  return identity(one) === identity(other);
}

function roleOf(name: string, shards: readonly Shard[]): MeasuredNode["role"] {
  return shards.some(({ primary }) => primary === name) ? "primary" : "replica";
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

function familyOf(what: Prefill): Family {
  return what.kind === "functions" ? "functions" : what.family;
}
