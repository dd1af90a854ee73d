/** Directives that formation and resize change on the nodes for a short time and then restore. */
import { Failure } from "../../lib/errors";
import type { Connection } from "../connection";
import { withConnections } from "../connections";
import type { Deployment } from "../deployment";
import { DYNAMIC_DEFAULTS } from "../settings/dynamic-settings";
import { parseFlatReply } from "../topology/replies";

/**
 * All directives that formation and resize change, with Valkey's defaults. If a node has a value that is neither the
 * default nor configured, a killed formation or resize left this value.
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
 * Settings that make a first synchronization fast. By default, a primary waits 5 s for more replicas. A replica that
 * loads the data from its disk notices the end of the transfer only in a job that runs once per second.
 */
export const FAST_SYNC_SETTINGS: ReadonlyMap<string, string> = new Map([
  ["repl-diskless-sync-delay", "0"],
  ["repl-diskless-load", "on-empty-db"],
]);

/** Sets directives on nodes, and remembers their old values. */
export class TemporarySettings {
  /** Values of each connection's server before the first change, by directive. */
  readonly #before: ReadonlyMap<Connection, Map<string, string>>;

  constructor(
    private readonly deployment: Deployment,
    connections: readonly Connection[],
  ) {
    this.#before = new Map(connections.map((connection) => [connection, new Map<string, string>()]));
  }

  /**
   * Sets the given directives on each server, except directives that the server does not know.
   * @param only connections on which the directives are set. @default all
   * @returns whether every server knows all given directives
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
   * Gives every changed directive its configured value. If no value is configured, the directive gets its default. The
   * function never throws, because the next formation restores nodes that cannot be reached now.
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

/**
 * Directives that a killed formation or resize left changed, one sentence for each node and directive. The list is
 * empty if all directives have their usual values.
 */
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

/**
 * Reads the values that the nodes have now for all directives that formation and resize change. Call this function
 * while no formation or resize runs. It is for servers whose configuration is unknown.
 * @throws Failure that names the directives whose values are not the same on all nodes
 */
export async function readUsualSettings(deployment: Deployment): Promise<ReadonlyMap<string, string>> {
  return withConnections(deployment, async (connections) => {
    const found = await Promise.all(
      [...connections.values()].map((connection) => readDirectives(connection, [...DEFAULTS.keys()])),
    );
    const differing = [...DEFAULTS.keys()].filter((name) => new Set(found.map((values) => values.get(name))).size > 1);
    if (differing.length > 0) throw new Failure(`the servers have different values of ${differing.join(", ")}`);
    return found[0] ?? new Map();
  });
}

/**
 * Directives that a formation or resize has left changed on one node: by name, the value now and the usual value
 * (`wanted`).
 */
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

/**
 * Value of a directive while no formation or resize runs. Undefined if the directive is not configured, and formation
 * and resize do not change it.
 */
function usualValue(name: string, directives: ReadonlyMap<string, string>): string | undefined {
  return directives.get(name) ?? DEFAULTS.get(name);
}

/** Values of the given directives. Directives that the server does not know are absent. */
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
