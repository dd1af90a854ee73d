/** Directives that forming and resizing change on the nodes, and restore afterwards. */
import type { Connection } from "../connection";
import type { Deployment } from "../deployment";
import { parseFlatReply } from "../topology/info";

/**
 * Hidden directives with Valkey's defaults. Only formation sets them, so that a value other than the default was left
 * by a formation that was killed.
 */
const HIDDEN_DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "0"],
  ["cluster-message-gossip-perc", "10"],
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
   * Gives every changed directive the value of the deployment's configuration, or else the hidden default, or else the
   * value before. Never throws: a node that cannot be reached is restored by the next formation.
   */
  async restore(): Promise<void> {
    const { directives } = this.deployment;
    await Promise.allSettled(
      [...this.#before].map(([connection, before]) =>
        setDirectives(
          connection,
          [...before].map(([name, value]) => [name, directives.get(name) ?? HIDDEN_DEFAULTS.get(name) ?? value]),
        ),
      ),
    );
  }
}

/** All directives that forming and resizing change. */
const TEMPORARY_DIRECTIVES = [
  ...FAST_SYNC_SETTINGS.keys(),
  "cluster-node-timeout",
  ...HIDDEN_DEFAULTS.keys(),
  "cluster-allow-replica-migration",
];

/**
 * Restores directives that a killed formation left changed, as far as the configuration or the default tells their
 * value.
 */
export async function restoreLeftoverSettings(
  { directives }: Deployment,
  connections: readonly Connection[],
): Promise<void> {
  const values = new Map([...HIDDEN_DEFAULTS, ...directives]);
  const wanted = [...values].filter(([name]) => TEMPORARY_DIRECTIVES.includes(name));
  const names = wanted.map(([name]) => name);
  await Promise.all(
    connections.map(async (connection) => {
      const found = await readDirectives(connection, names);
      const isChanged = ([name, value]: [string, string]): boolean => found.has(name) && found.get(name) !== value;
      await setDirectives(connection, wanted.filter(isChanged));
    }),
  );
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
