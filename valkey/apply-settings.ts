/** Changes directives on all nodes of a running deployment. If one node refuses a value, no node is changed. */
import { Failure, messageOf } from "../lib/errors";
import { type Polling, awaitCondition } from "../lib/polling";
import type { Connection } from "./connection";
import { withConnections } from "./connections";
import type { Deployment } from "./deployment";
import type { DeploymentNode } from "./node";
import { withoutMemoryRaise } from "./settings/dynamic-settings";
import { awaitsReplicas, COMPARED_DIRECTIVES } from "./settings/settings";
import { infoNumber, parseFlatReply, parseInfo } from "./topology/replies";

const POLL_MS = 200;

/** If a node refuses a value, all get theirs back. @param mayRaise false keeps maxmemory and eviction policy */
export async function applySettings(
  deployment: Deployment,
  changes: ReadonlyMap<string, string>,
  polling: Polling & { readonly timeoutMs: number },
  mayRaise: (node: DeploymentNode) => boolean = () => true,
): Promise<void> {
  await withConnections(deployment, async (connections) => {
    const nodes = [...connections];
    const former = await Promise.all(nodes.map(([, connection]) => readSettings(connection, [...changes.keys()])));
    const wanted = nodes.map(([node], index) =>
      mayRaise(node) ? changes : withoutMemoryRaise(former[index] ?? new Map(), changes),
    );
    await Promise.all(
      nodes.map(([node, connection], index) => requireMemory(node, connection, wanted[index] ?? changes)),
    );
    const attempts = await Promise.allSettled(
      nodes.map(([, connection], index) => setAll(connection, differences(former[index], wanted[index] ?? changes))),
    );
    const refusals = attempts.flatMap((attempt, index) =>
      attempt.status === "rejected" ? [`${nodes[index]?.[0].name ?? ""}: ${messageOf(attempt.reason)}`] : [],
    );
    if (refusals.length > 0) {
      await Promise.allSettled(nodes.map(([, connection], index) => setAll(connection, former[index] ?? new Map())));
      throw new Failure(
        `${deployment.name}: the servers refuse settings, so no setting has changed: ${refusals.join("; ")}`,
      );
    }
    if (changes.get("appendonly") === "yes") await awaitAppendOnlyFiles(deployment.name, nodes, polling);
  });
}

export async function differingSettings(
  deployment: Deployment,
  wanted: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  // Only these directives are compared. CONFIG GET may print other directives in a different form than the user writes
  // them.
  const compared = new Map([...wanted].filter(([name]) => COMPARED_DIRECTIVES.includes(name)));
  if (compared.size === 0) return [];
  return withConnections(deployment, async (connections) => {
    const found = await Promise.all(
      [...connections].map(async ([{ name: node }, connection]) => {
        const values = await readSettings(connection, [...compared.keys()]);
        return [...differences(values, compared)]
          .filter(([name]) => !awaitsReplicas(name, values.get(name)))
          .map(([name, value]) => `${node}: ${name} is ${values.get(name) ?? "unknown"}, not ${value}`);
      }),
    );
    return found.flat();
  });
}

async function readSettings(connection: Connection, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return parseFlatReply(await connection.config("GET", ...(names as [string])));
}

function differences(
  former: ReadonlyMap<string, string> | undefined,
  wanted: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map([...wanted].filter(([name, value]) => former?.get(name) !== value));
}

/** Sets either all directives or none, because one CONFIG SET with several directives is atomic. */
async function setAll(connection: Connection, values: ReadonlyMap<string, string>): Promise<void> {
  if (values.size > 0) await connection.call("CONFIG", "SET", ...[...values].flat());
}

/** If the data did not fit into the new `maxmemory` without eviction, the server would refuse every write. */
async function requireMemory(
  { name }: DeploymentNode,
  connection: Connection,
  changes: ReadonlyMap<string, string>,
): Promise<void> {
  const limit = Number(changes.get("maxmemory") ?? 0);
  const settings = await readSettings(connection, ["maxmemory-policy"]);
  const policy = changes.get("maxmemory-policy") ?? settings.get("maxmemory-policy");
  if (!(limit > 0) || policy !== "noeviction") return;
  const used = infoNumber(parseInfo(await connection.info("memory")), "used_memory") ?? 0;
  if (used <= limit) return;
  throw new Failure(
    `${name} uses ${used} bytes, which is more than the new maxmemory of ${limit} bytes, so ${name} would refuse every write. ` +
      "Nothing has changed; delete data, add shards, or set a maxmemory-policy that evicts keys",
  );
}

/** A server that restarts before its file is complete loads no data. */
async function awaitAppendOnlyFiles(
  deployment: string,
  nodes: readonly (readonly [DeploymentNode, Connection])[],
  polling: Polling & { readonly timeoutMs: number },
): Promise<void> {
  const isWritten = async ([, connection]: readonly [DeploymentNode, Connection]): Promise<boolean> => {
    const info = parseInfo(await connection.info("persistence"));
    return ["aof_rewrite_in_progress", "aof_rewrite_scheduled"].every((key) => info.get(key) === "0");
  };
  await awaitCondition(
    `every node of ${deployment} has written its append-only file`,
    async () => (await Promise.all(nodes.map(isWritten))).every((each) => each),
    { intervalMs: POLL_MS, ...polling },
  );
}
