/** Directives that forming and resizing change on the nodes, and restore afterwards. */
import type { Connection } from "../connection";
import { withConnections } from "../connections";
import type { Deployment } from "../deployment";
import { DYNAMIC_DEFAULTS } from "../settings/dynamic-settings";
import { parseFlatReply } from "../topology/info";

/**
 * All directives that forming and resizing change, with Valkey's defaults. Where they are not configured, another value was left by a
 * formation or a resize that was killed.
 */
const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "0"],
  ["cluster-message-gossip-perc", "10"],
  ["repl-diskless-load", "disabled"],
  ...["repl-diskless-sync-delay", "cluster-node-timeout", "cluster-allow-replica-migration"].map(
    (name) => [name, DYNAMIC_DEFAULTS[name] ?? ""] as const,
  ),
]);

/**
 * Settings for a first synchronization without delays. By default a primary waits 5 s for more replicas, and a replica
 * that loads from its disk notices the end of the transfer in a job that runs once per second.
 */
export const FAST_SYNC_SETTINGS: ReadonlyMap<string, string> = new Map([
  ["repl-diskless-sync-delay", "0"],
  ["repl-diskless-load", "on-empty-db"],
]);

/** Sets directives on nodes and remembers what they were. */
export class TemporarySettings {
  /** The values before the first change, of each connection, by directive. */
  readonly #before: ReadonlyMap<Connection, Map<string, string>>;

  constructor(
    private readonly deployment: Deployment,
    connections: readonly Connection[],
  ) {
    this.#before = new Map(connections.map((connection) => [connection, new Map<string, string>()]));
  }

  /**
   * Sets those of the directives that a server knows.
   * @param only connections to set them on. @default all
   * @returns whether every server knows all of them
   */
  async set(values: ReadonlyMap<string, string>, only?: readonly Connection[]): Promise<boolean> {
    const chosen = [...this.#before].filter(([connection]) => only?.includes(connection) !== false);
    const complete = await Promise.all(
      chosen.map(async ([connection, before]) => {
        const found = await readDirectives(connection, [...values.keys()]);
        for (const [name, value] of found) if (!before.has(name)) before.set(name, value);
        await setDirectives(
          connection,
          [...values].filter(([name]) => found.has(name)),
        );
        return found.size === values.size;
      }),
    );
    return complete.every((each) => each);
  }

  /**
   * Gives every changed directive the value of the deployment's configuration, or else its default. Never throws: a node that cannot
   * be reached is restored by the next formation.
   */
  async restore(): Promise<void> {
    const { directives } = this.deployment;
    await Promise.allSettled(
      [...this.#before].map(([connection, before]) =>
        setDirectives(
          connection,
          [...before].map(([name, value]) => [name, usualValue(name, directives) ?? value]),
        ),
      ),
    );
  }
}

/** Restores directives that a killed formation or resize left changed. */
export async function restoreLeftoverSettings(
  deployment: Deployment,
  connections: readonly Connection[],
): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      await setDirectives(
        connection,
        [...(await leftoverSettings(deployment, connection))].map(([name, { wanted }]) => [name, wanted]),
      );
    }),
  );
}

/** Changes that a killed formation or resize left, a sentence for each node and directive; empty when there are none. */
export async function describeLeftoverSettings(deployment: Deployment): Promise<string[]> {
  return withConnections(deployment, async (connections) => {
    const found = await Promise.all(
      [...connections].map(async ([{ name: node }, connection]) =>
        [...(await leftoverSettings(deployment, connection))].map(
          ([name, { value, wanted }]) => `${node}: ${name} is ${value}, not ${wanted}`,
        ),
      ),
    );
    return found.flat();
  });
}

/** Temporary directives of a node that have another value than when nothing is formed. */
async function leftoverSettings(
  { directives }: Deployment,
  connection: Connection,
): Promise<ReadonlyMap<string, { readonly value: string; readonly wanted: string }>> {
  const found = await readDirectives(connection, [...DEFAULTS.keys()]);
  const pairs = [...found].map(
    ([name, value]) => [name, { value, wanted: usualValue(name, directives) ?? value }] as const,
  );
  return new Map(pairs.filter(([, { value, wanted }]) => value !== wanted));
}

/** The value of a temporary directive while nothing is formed; undefined for others. */
function usualValue(name: string, directives: ReadonlyMap<string, string>): string | undefined {
  return directives.get(name) ?? DEFAULTS.get(name);
}

/** Those of the directives that the server knows, with their values. */
async function readDirectives(connection: Connection, names: readonly string[]): Promise<Map<string, string>> {
  const found = parseFlatReply(await connection.call("CONFIG", "GET", ...names));
  return new Map([...found].filter(([name]) => names.includes(name)));
}

async function setDirectives(
  connection: Connection,
  values: readonly (readonly [name: string, value: string])[],
): Promise<void> {
  if (values.length > 0) await connection.call("CONFIG", "SET", ...values.flat());
}
