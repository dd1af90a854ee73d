/** Addresses of nodes that a cluster gives to clients that cannot reach the nodes' own addresses. */
import { allInOrder } from "../lib/all-in-order";
import { Failure } from "../lib/errors";
import { type Polling, awaitCondition } from "../lib/polling";
import type { Connection } from "./connection";
import { withConnections } from "./connections";
import type { Deployment } from "./deployment";
import { type DeploymentNode, type Endpoint, formatEndpoint } from "./node";
import { formatConfigFile } from "./settings/settings";
import { ViewParser } from "./topology/cluster-view";
import { parseFlatReply } from "./topology/replies";

const POLL_MS = 250;

/** Endpoint of each node for clients; undefined for the node's own address. */
export type Announced = ReadonlyMap<DeploymentNode, Endpoint | undefined>;

/** Links between nodes keep their own addresses. An announced address has no host name, also with TLS. */
function announcedDirectives(
  address: Endpoint | undefined,
  { port, tls }: { readonly port: number; readonly tls: boolean },
): ReadonlyMap<string, string> {
  const host = address?.host ?? "";
  const other = address === undefined || address.port === port ? "0" : String(address.port);
  return new Map([
    ["cluster-announce-client-ipv4", host.includes(":") ? "" : host],
    ["cluster-announce-client-ipv6", host.includes(":") ? host : ""],
    [tls ? "cluster-announce-client-tls-port" : "cluster-announce-client-port", other],
    ["cluster-preferred-endpoint-type", tls && address === undefined ? "hostname" : "ip"],
  ]);
}

/** Directives whose values are the defaults are omitted. */
export function announcedConfig(address: Endpoint, server: { readonly port: number; readonly tls: boolean }): string {
  const given = [...announcedDirectives(address, server)].filter(([, value]) => value !== "" && value !== "0");
  return formatConfigFile(new Map(given));
}

/** Waits until every node gives clients all addresses. @throws Failure, before any change, if a directive is lacking */
export async function announce(
  deployment: Deployment,
  announced: Announced,
  tls: boolean,
  polling: Polling & { readonly timeoutMs: number },
): Promise<void> {
  await withConnections(deployment, async (connections) => {
    const changes = await allInOrder(
      [...connections].map(async ([node, connection]) => [connection, await changesOf(node, connection)] as const),
    );
    for (const [connection, change] of changes)
      if (change.length > 0) await connection.call("CONFIG", "SET", ...change.flat());
    await awaitCondition(
      `every node of ${deployment.name} gives clients the addresses of all nodes`,
      async () => (await unaware(connections, announced)).length === 0,
      { intervalMs: POLL_MS, ...polling },
    );
  });

  async function changesOf(node: DeploymentNode, connection: Connection): Promise<[string, string][]> {
    const wanted = announcedDirectives(announced.get(node), { port: node.endpoint.port, tls });
    const found = await read(connection, wanted);
    const missing = [...wanted].find(([name, value]) => !found.has(name) && value !== "0");
    if (missing !== undefined)
      throw new Failure(
        `${node.name} does not have the directive ${missing[0]}, so it cannot give clients port ${missing[1]}. Node ports need Valkey 9.1. ` +
          "Nothing has changed; use load balancers, or a newer image",
      );
    return [...wanted].filter(([name, value]) => found.has(name) && found.get(name) !== value);
  }
}

export function announcementDrift(deployment: Deployment, announced: Announced, tls: boolean): Promise<string[]> {
  return withConnections(deployment, async (connections) => {
    const found = await Promise.all(
      [...connections].map(async ([node, connection]) => {
        const wanted = announcedDirectives(announced.get(node), { port: node.endpoint.port, tls });
        const values = await read(connection, wanted);
        return [...wanted]
          .filter(([name, value]) => values.has(name) && values.get(name) !== value)
          .map(([name, value]) => `${node.name}: ${name} is "${values.get(name) ?? ""}", not "${value}"`);
      }),
    );
    return found.flat();
  });
}

async function read(connection: Connection, wanted: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
  return parseFlatReply(await connection.config("GET", ...([...wanted.keys()] as [string])));
}

/** The next ping from that node corrects the address. */
async function unaware(
  connections: ReadonlyMap<DeploymentNode, Connection>,
  announced: Announced,
): Promise<DeploymentNode[]> {
  const parser = new ViewParser();
  const views = await Promise.all(
    [...connections].map(async ([node, connection]) => {
      const view = parser.parse(String(await connection.cluster("NODES")));
      return { node, view };
    }),
  );
  const addressOf = new Map(views.map(({ node, view }) => [view.selfId, announced.get(node) ?? node.endpoint]));
  return views
    .filter(({ view }) =>
      [...view.addresses].some(([id, { host, port }]) => {
        const wanted = addressOf.get(id);
        // Over IPv4, a node never gives clients an IPv6 address.
        if (wanted === undefined || wanted.host.includes(":")) return false;
        return host !== "" && formatEndpoint({ host, port }) !== formatEndpoint(wanted);
      }),
    )
    .map(({ node }) => node);
}
