/** The zone that a server reports, so that a client can read from replicas in its own zone. */
import type { Connection } from "./connection";
import { withEveryNode } from "./connections";
import type { Deployment } from "./deployment";
import { parseFlatReply } from "./topology/replies";

/** The configuration files of pods do not contain this directive, so the program sets it with CONFIG SET. */
export const ZONE_DIRECTIVE = "availability-zone";

/** @param version as the server prints it, or as an image's tag contains it: `8.1.4` */
export function supportsZoneDirective(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 1);
}

/** Skips servers that lack the directive or cannot be reached; verification reports them. @returns changed servers */
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
