/** Settings put in force on all nodes for a while, and taken back. */
import type { Connection } from "../connection";
import type { Deployment } from "../deployment";

/**
 * A first synchronisation without waits: a primary collects replicas for 5 s by default, and a replica that
 * takes the transfer by way of its disk notices the end of it in a job that runs once a second.
 */
export const QUICK_SYNC: ReadonlyMap<string, string> = new Map([
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
   * @returns whether every server knows all of them
   */
  async set(values: ReadonlyMap<string, string>): Promise<boolean> {
    const known = await Promise.all(this.connections.map((connection, index) => this.#remember(connection, index, [...values.keys()])));
    await Promise.all(this.connections.map((connection, index) => setAll(connection, [...values].filter(([name]) => known[index]?.has(name)))));
    return known.every((names) => names.size === values.size);
  }

  /** Gives every directive that was set the value the deployment asks for, or else the one it had before. Never throws. */
  async restore(): Promise<void> {
    await Promise.allSettled(
      this.connections.map((connection, index) =>
        setAll(connection, [...(this.#before[index] ?? [])].map(([name, value]) => [name, this.deployment.directives.get(name) ?? value])),
      ),
    );
  }

  /** The first value seen of each directive is the one to go back to. */
  async #remember(connection: Connection, index: number, names: readonly string[]): Promise<Set<string>> {
    const flat = (await connection.call("CONFIG", "GET", ...names)) as string[];
    const found = new Set(names.filter((name) => flat.includes(name)));
    const before = this.#before[index];
    for (const name of found) if (before !== undefined && !before.has(name)) before.set(name, flat[flat.indexOf(name) + 1] ?? "");
    return found;
  }
}

async function setAll(connection: Connection, values: readonly (readonly [name: string, value: string])[]): Promise<void> {
  if (values.length > 0) await connection.call("CONFIG", "SET", ...values.flat());
}
