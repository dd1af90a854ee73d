/**
 * Checks whether the running nodes have all data of a deployment. If the running nodes have all data, no data is lost
 * even if all other nodes lose their data.
 */
import type { Connection } from "../connection";
import { withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import { readMemberStates } from "../membership/members";
import { hasPrimaryRole, parseInfo } from "../topology/replies";
import { ownAllSlots } from "../membership/participation";

/**
 * Whether the nodes that reply have all data. In cluster mode, these nodes must own all slots. In replication mode, one
 * of these nodes must be a primary that has loaded its data.
 */
export function holdsAllData(deployment: Deployment): Promise<boolean> {
  return withEveryNode(deployment, async (attempts) => {
    const reached = new Map(attempts.flatMap(({ node, connection }) => (connection ? [[node, connection]] : [])));
    if (deployment.mode !== "cluster") return hasPrimary([...reached.values()]);
    return ownAllSlots((await readMemberStates(reached)).states);
  });
}

/** Whether one of the nodes is a primary that has loaded its data. Replicas copy the data of this primary. */
async function hasPrimary(connections: readonly Connection[]): Promise<boolean> {
  const facts = await Promise.all(connections.map(async (connection) => parseInfo(await connection.info())));
  return facts.some((info) => hasPrimaryRole(info) && info.get("loading") === "0");
}
