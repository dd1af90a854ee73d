/** The zone that a server reports to its clients. Clients use it to read from replicas in their own zone. */
import type { Connection } from "./connection";
import { withEveryNode } from "./connections";
import type { Deployment } from "./deployment";
import { parseFlatReply } from "./topology/info";

/**
 * The directive for the zone of a server. The configuration files of pods do not contain it, so it is set with CONFIG
 * SET.
 */
export const ZONE_DIRECTIVE = "availability-zone";

/**
 * Whether servers of a version have the directive. @param version as the server or the tag of an image writes it:
 * `8.1.4`
 */
export function supportsZoneDirective(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 1);
}

/**
 * Gives each server the zone of the machine on which it runs. It skips servers that lack the directive or cannot be
 * reached; verification reports them.
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
