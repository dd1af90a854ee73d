/** The zone that a server tells its clients, which then read from replicas in their own zone. */
import type { Connection } from "./connection";
import { withEveryNode } from "./connections";
import type { Deployment } from "./deployment";
import { parseFlatReply } from "./topology/info";

/** The directive that holds a server's zone. CONFIG SET takes it, and no configuration file of a pod has it. */
export const ZONE_DIRECTIVE = "availability-zone";

/** Whether a server has the directive. @param version as the server or an image's tag has it: `8.1.4` */
export function supportsZoneDirective(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 1);
}

/**
 * Gives each server the zone of the machine that it runs on. Servers without the directive and servers that cannot be
 * reached are left out: verification judges them.
 * @returns names of the servers that had a different zone
 */
export async function tellZones(deployment: Deployment): Promise<readonly string[]> {
  return withEveryNode(deployment, async (attempts) => {
    const told = await Promise.all(
      attempts.map(async ({ node: { name, zone }, connection }) =>
        connection !== undefined && zone !== undefined && (await tellZone(connection, zone)) ? [name] : [],
      ),
    );
    return told.flat();
  });
}

async function tellZone(connection: Connection, zone: string): Promise<boolean> {
  const found = parseFlatReply(await connection.config("GET", ZONE_DIRECTIVE)).get(ZONE_DIRECTIVE);
  if (found === undefined || found === zone) return false;
  await connection.config("SET", ZONE_DIRECTIVE, zone);
  return true;
}
