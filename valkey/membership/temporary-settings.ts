import type { Connection } from "../connection";
import { withConnections } from "../connections";
import type { Deployment } from "../deployment";
import { DYNAMIC_DEFAULTS } from "../settings/dynamic-settings";
import { parseFlatReply } from "../topology/replies";

/** With Valkey's defaults. A value that is neither the default nor configured was left by a killed change. */
const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "0"],
  ["cluster-message-gossip-perc", "10"],
  ["repl-diskless-load", "disabled"],
  ...["repl-diskless-sync-delay", "cluster-node-timeout", "cluster-allow-replica-migration"].map(
    (name) => [name, DYNAMIC_DEFAULTS[name] ?? ""] as const,
  ),
]);

/** By default, primaries wait 5 s for replicas, and a replica with a disk notices the end only once per second. */
export const FAST_SYNC_SETTINGS: ReadonlyMap<string, string> = new Map([
  ["repl-diskless-sync-delay", "0"],
  ["repl-diskless-load", "on-empty-db"],
]);

export class TemporarySettings {
  /** Values of each connection's server before the first change, by directive. */
  readonly #before: ReadonlyMap<Connection, Map<string, string>>;

  constructor(
    private readonly deployment: Deployment,
    connections: readonly Connection[],
  ) {
    this.#before = new Map(connections.map((connection) => [connection, new Map<string, string>()]));
  }

  /** Skips directives that a server does not know. @returns whether every server knows all */
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

  /** The configured value, else the default. Never throws: the next formation restores silent nodes. */
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

/** Undefined if the directive is not configured, and formation and resize do not change it. */
function usualValue(name: string, directives: ReadonlyMap<string, string>): string | undefined {
  return directives.get(name) ?? DEFAULTS.get(name);
}

/** Directives that the server does not know are absent. */
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
