import type { Connection } from "../../valkey/connection";
import { withConnections } from "../../valkey/connections";
import type { DeploymentNode } from "../../valkey/node";
import { formSentinels } from "../../valkey/sentinel/form-sentinels";
import { parseInfo } from "../../valkey/topology/replies";
import { awaitCondition } from "../../lib/polling";
import type { FaultContext } from "./fault-context";

export async function rejoin(context: FaultContext): Promise<void> {
  if (context.injector.deployment.mode === "cluster") return rejoinCluster(context);
  const { observer } = context;
  await awaitCondition("there is one primary and its replicas follow it", () => observer.isRedundant, context);
  await resumeSentinels(context);
}

export async function resumeSentinels({ injector, signal }: FaultContext): Promise<void> {
  const deployment = { ...injector.deployment, nodes: injector.nodes() };
  if (deployment.sentinels !== undefined) await formSentinels(deployment, deployment.sentinels, { signal });
}

/** Before that, a node accepts neither writes nor changes of its configuration. */
export function awaitLoaded(name: string, connection: Connection, context: FaultContext): Promise<void> {
  const isLoaded = async (): Promise<boolean> => parseInfo(await connection.info("persistence")).get("loading") === "0";
  return awaitCondition(`${name} has loaded its data`, isLoaded, context);
}

/** Failovers are disabled until all slots are served: a replica might not know its primary's new address yet. */
async function rejoinCluster(context: FaultContext): Promise<void> {
  const { injector, observer } = context;
  await withConnections({ ...injector.deployment, nodes: injector.nodes() }, async (connections) => {
    const members = [...connections];
    await Promise.all(members.map(([{ name }, connection]) => awaitLoaded(name, connection, context)));
    await allowFailovers(connections.values(), false);
    await Promise.all(meetingsOf(members).map(([connection, node]) => meet(connection, node)));
    await awaitCondition("all nodes have found each other", () => observer.isServing, context);
    await allowFailovers(connections.values(), true);
  });
}

async function allowFailovers(connections: Iterable<Connection>, allowed: boolean): Promise<void> {
  const value = allowed ? "no" : "yes";
  const set = (connection: Connection): Promise<unknown> =>
    connection.config("SET", "cluster-replica-no-failover", value);
  await Promise.all([...connections].map(set));
}

/** Each node meets those at distances 1, 2, 4, … in the list, so that gossip reaches all in few steps. */
function meetingsOf<C>(members: readonly (readonly [DeploymentNode, C])[]): [C, DeploymentNode][] {
  const meetings: [C, DeploymentNode][] = [];
  for (const [index, [, connection]] of members.entries()) {
    for (let distance = 1; distance < members.length; distance *= 2) {
      const node = members[(index + distance) % members.length]?.[0];
      if (node !== undefined) meetings.push([connection, node]);
    }
  }
  return meetings;
}

async function meet(connection: Connection, { endpoint: { host, port }, busPort }: DeploymentNode): Promise<void> {
  await connection.call("CLUSTER", "MEET", host, port, busPort ?? port + 10_000);
}
