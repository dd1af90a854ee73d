import { Failure, messageOf } from "../../lib/errors";
import { withConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import type { FaultInjector } from "../injectors/fault-injector";

const DEFAULT_NODE_TIMEOUT_MS = 15_000;

const SERVER_DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["appendonly", "no"],
  ["appendfsync", "everysec"],
  ["min-replicas-to-write", "0"],
  ["min-replicas-max-lag", "10"],
  ["cluster-node-timeout", String(DEFAULT_NODE_TIMEOUT_MS)],
]);

/** The node timeout of a deployment, milliseconds. */
export function nodeTimeout({ directives }: Pick<Deployment, "directives">): number {
  return Number(directives.get("cluster-node-timeout") ?? DEFAULT_NODE_TIMEOUT_MS);
}

export async function setDirectives(injector: FaultInjector, settings: ReadonlyMap<string, string>): Promise<void> {
  injector.setStartupDirectives(new Map([...injector.deployment.directives, ...settings]));
  if (settings.size > 0) await configureAll(injector, [...settings].flat());
}

/** A directive that the deployment does not set gets Valkey's default. @throws Failure that names the node */
export async function resetDirectives(
  injector: FaultInjector,
  configured: ReadonlyMap<string, string>,
  settings: ReadonlyMap<string, string>,
): Promise<void> {
  injector.setStartupDirectives(configured);
  const words = [...settings.keys()].flatMap((name) => {
    const value = configured.get(name) ?? SERVER_DEFAULTS.get(name);
    return value === undefined ? [] : [name, value];
  });
  if (words.length > 0) await configureAll(injector, words);
}

async function configureAll(injector: FaultInjector, words: readonly string[]): Promise<void> {
  await withConnections({ ...injector.deployment, nodes: injector.nodes() }, (connections) =>
    Promise.all(
      [...connections].map(async ([{ name }, connection]) => {
        try {
          await connection.call("CONFIG", "SET", ...words);
        } catch (error) {
          throw new Failure(`${name} refuses CONFIG SET ${words.join(" ")}: ${messageOf(error)}`, { cause: error });
        }
      }),
    ),
  );
}
