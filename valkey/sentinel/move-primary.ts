/** Moves the primary of a deployment in replication mode to a node, in order, while no Sentinel decides. */
import type { Connection } from "../connection";
import { withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import type { FormationOptions } from "../formation/deadline";
import { Deadline } from "../formation/deadline";
import { infoNumber, parseInfo } from "../topology/info";
import { announcedEndpoint } from "./form-sentinels";

/** Milliseconds for which writes may wait for the node to have them all. */
const PAUSE_MS = 10_000;

/**
 * Has a node take over when it has every write, and the other nodes follow it; not if it does not answer. Where this stops
 * half-way, the former primary or the node is the primary, with every write.
 * @param before called when the node is linked to the primary, or is the primary itself
 * @throws Failure when the node is no linked replica of a sole primary in time, or does not take over; the former primary takes writes again
 *   then
 */
export function movePrimary(
  deployment: Deployment,
  to: string,
  before: () => Promise<void>,
  options: FormationOptions = {},
): Promise<void> {
  const deadline = new Deadline(deployment.name, deployment.nodes.length, options, "ready for another primary");
  return withEveryNode(deployment, async (attempts) => {
    const connections = new Map(
      attempts.flatMap(({ node, connection }) => (connection === undefined ? [] : [[node.name, connection] as const])),
    );
    const target = deployment.nodes.find(({ name }) => name === to);
    const own = connections.get(to);
    // One that starts later finds the newest data by itself.
    if (target === undefined || own === undefined) return before();
    await deadline.poll(async () => notReady(to, await rolesOf(connections)));
    await before();
    const [[from, former] = [to, own]] = await primariesAmong(connections);
    const { host, port } = await announcedEndpoint(deployment, target);
    if (from !== to) {
      await former.call("FAILOVER", "TO", host, String(port), "TIMEOUT", String(PAUSE_MS));
      const isPrimary = async (): Promise<boolean> => (await readInfo(own)).get("role") === "master";
      await deadline.poll(async () => ((await isPrimary()) ? undefined : `${to} does not take over from ${from}`));
    }
    for (const [name, connection] of connections)
      if (name !== to && !(await follows(connection, host, port)))
        await connection.call("REPLICAOF", host, String(port));
  });
}

type Info = ReadonlyMap<string, string>;
type Connections = ReadonlyMap<string, Connection>;

const readInfo = async (connection: Connection): Promise<Info> => parseInfo(await connection.info("replication"));

async function rolesOf(connections: Connections): Promise<ReadonlyMap<string, Info>> {
  return new Map(
    await Promise.all([...connections].map(async ([name, each]) => [name, await readInfo(each)] as const)),
  );
}

async function primariesAmong(connections: Connections): Promise<[name: string, connection: Connection][]> {
  const roles = await rolesOf(connections);
  return [...connections].filter(([name]) => roles.get(name)?.get("role") === "master");
}

/** Why a node cannot take over yet. */
function notReady(name: string, roles: ReadonlyMap<string, Info>): string | undefined {
  const primaries = [...roles].flatMap(([each, info]) => (info.get("role") === "master" ? [each] : []));
  if (primaries.length !== 1) return `it has ${primaries.length} primaries`;
  if (primaries[0] === name || roles.get(name)?.get("master_link_status") === "up") return undefined;
  return `${name} is not linked to its primary`;
}

async function follows(connection: Connection, host: string, port: number): Promise<boolean> {
  const info = await readInfo(connection);
  return info.get("master_host")?.replace(/\.$/, "") === host && infoNumber(info, "master_port") === port;
}
