/** The zone that a server reports to its clients. Clients use it to read from replicas in their own zone. */
import type { Connection } from "./connection";
import { withEveryNode } from "./connections";
import type { Deployment } from "./deployment";
import { parseFlatReply } from "./topology/info";

/**
 * The directive for a server's zone. Only CONFIG SET sets it, because the configuration files of pods do not contain
 * it.
 */
export const ZONE_DIRECTIVE = "availability-zone";

/** Whether a server has the directive. @param version in the form of the server or of an image's tag: `8.1.4` */
export function supportsZoneDirective(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 1);
}

/**
 * Gives each server the zone of the machine that it runs on. Skips servers that lack the directive or cannot be
 * reached: verification judges them.
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
