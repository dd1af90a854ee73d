/** Settings put in force on all nodes for a while, and taken back. */
import type { Connection } from "../connection";
import type { Deployment } from "../deployment";

/**
 * Hidden directives, which nobody sets but whoever forms clusters, with Valkey's own values: a formation that was killed may
 * have left others.
 */
const HIDDEN: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "0"],
  ["cluster-message-gossip-perc", "10"],
]);

/**
 * A first synchronisation without waits: a primary collects replicas for 5 s by default, and a replica that
 * takes the transfer by way of its disk notices the end of it in a job that runs once a second.
 */
export const FAST_SYNC_SETTINGS: ReadonlyMap<string, string> = new Map([
  ["repl-diskless-sync-delay", "0"],
  ["repl-diskless-load", "on-empty-db"],
]);

export class TemporarySettings {
  /** Of each connection, by directive. */
  readonly #before: Map<string, string>[];

  constructor(
    private readonly deployment: Deployment,
    private readonly connections: readonly Connection[],
  ) {
    this.#before = connections.map(() => new Map<string, string>());
  }

  /**
   * Sets directives wherever the server knows them.
   * @param only of the connections. @default all
   * @returns whether every server knows all of them
   */
  async set(values: ReadonlyMap<string, string>, only?: readonly Connection[]): Promise<boolean> {
    const known = await Promise.all(
      this.connections.map(async (connection, index) => {
        if (only?.includes(connection) === false) return true;
        const names = await this.#remember(connection, index, [...values.keys()]);
        await setAll(
          connection,
          [...values].filter(([name]) => names.has(name)),
        );
        return names.size === values.size;
      }),
    );
    return known.every((all) => all);
  }

  /** Gives every directive that was set the value the deployment asks for, or else the one it had before. Never throws. */
  async restore(): Promise<void> {
    await Promise.allSettled(
      this.connections.map((connection, index) =>
        setAll(
          connection,
          [...(this.#before[index] ?? [])].map(([name, value]) => [
            name,
            this.deployment.directives.get(name) ?? HIDDEN.get(name) ?? value,
          ]),
        ),
      ),
    );
  }

  /** The first value seen of each directive is the one to go back to. */
  async #remember(connection: Connection, index: number, names: readonly string[]): Promise<Set<string>> {
    const flat = (await connection.call("CONFIG", "GET", ...names)) as string[];
    const found = new Set(names.filter((name) => flat.includes(name)));
    const before = this.#before[index];
    for (const name of found)
      if (before !== undefined && !before.has(name)) before.set(name, flat[flat.indexOf(name) + 1] ?? "");
    return found;
  }
}

/** Directives that forming and resizing change for a while. */
const CHANGED_FOR_A_WHILE = [
  ...FAST_SYNC_SETTINGS.keys(),
  "cluster-node-timeout",
  ...HIDDEN.keys(),
  "cluster-allow-replica-migration",
];

/**
 * Puts directives back that were left changed by a run that was killed, where it is known what they should be.
 */
export async function restoreLeftoverSettings(
  { directives }: Deployment,
  connections: readonly Connection[],
): Promise<void> {
  const valueOf = (name: string): string | undefined => directives.get(name) ?? HIDDEN.get(name);
  const wanted = CHANGED_FOR_A_WHILE.filter((name) => valueOf(name) !== undefined);
  if (wanted.length === 0) return;
  await Promise.all(
    connections.map(async (connection) => {
      const flat = (await connection.call("CONFIG", "GET", ...wanted)) as string[];
      const astray = wanted.filter((name) => flat.includes(name) && flat[flat.indexOf(name) + 1] !== valueOf(name));
      await setAll(
        connection,
        astray.map((name) => [name, valueOf(name) ?? ""]),
      );
    }),
  );
}

async function setAll(
  connection: Connection,
  values: readonly (readonly [name: string, value: string])[],
): Promise<void> {
  if (values.length > 0) await connection.call("CONFIG", "SET", ...values.flat());
}
