/** Moves the primary of a deployment in replication mode to a node, in order, while no Sentinel decides. */
import { Failure } from "../../lib/errors";
import type { Connection } from "../connection";
import { withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import type { FormationOptions } from "../formation/deadline";
import { Deadline } from "../formation/deadline";
import type { Endpoint } from "../node";
import { infoNumber, parseInfo } from "../topology/info";
import { announcedEndpoint } from "./form-sentinels";

/** Milliseconds for which writes may wait for the node to have them all. */
const PAUSE_MS = 10_000;

/**
 * Has a node take over when it has every write, and the other nodes follow it. Where this stops half-way, the former primary or the node
 * is the primary, with every write.
 * @param before called when the node is linked to the primary, or is the primary itself
 * @throws Failure when the node does not answer, is not linked to the only primary in time, or does not take over; the former primary then
 *   takes writes again
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
    if (target === undefined || own === undefined)
      throw new Failure(
        `${to}, which is to be the primary, does not answer. Nothing has changed: run this again when it does`,
      );
    const isReady = async (): Promise<string | undefined> => notReady(to, await rolesOf(connections));
    await deadline.poll(isReady);
    await before();
    // Sentinels may have failed over until then.
    await deadline.poll(isReady);
    const [[from, former] = [to, own]] = await primariesAmong(connections);
    const { host, port } = await announcedEndpoint(deployment, target);
    if (from !== to) await takeOver(own, former, { host, port }, deadline);
    for (const [name, connection] of connections)
      if (name !== to && !(await follows(connection, host, port)))
        await connection.call("REPLICAOF", host, String(port));
  });
}

/** Asks again where a failover was given up because the node was late. */
async function takeOver(own: Connection, former: Connection, to: Endpoint, deadline: Deadline): Promise<void> {
  const ask = (): Promise<unknown> =>
    former.call("FAILOVER", "TO", to.host, String(to.port), "TIMEOUT", String(PAUSE_MS));
  await ask();
  try {
    await deadline.poll(async () => {
      if ((await readInfo(own)).get("role") === "master") return undefined;
      const info = await readInfo(former);
      if (info.get("role") === "master" && info.get("master_failover_state") === "no-failover") await ask();
      return `${to.host} does not take over`;
    });
  } catch (error) {
    await former.call("FAILOVER", "ABORT").catch(() => undefined);
    throw error;
  }
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
