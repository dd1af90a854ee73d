import type { DeploymentNode } from "../node";
import { formatConfigFile } from "../settings";
import { spreadOverZones } from "../topology/placement";
import type { PlacedNode } from "../topology/placement";

export interface SentinelSettings {
  /** How many watch; odd, so that one more is of use. */
  readonly count: number;
  /** How many must have missed the primary for it to count as failed. A majority of all elects who acts in any case. */
  readonly quorum: number;
  /** Milliseconds without an answer, after which a Sentinel misses a node (`down-after-milliseconds`). */
  readonly downAfterMs: number;
  /** Milliseconds after which a failover that does not come to its end is tried anew (`failover-timeout`). */
  readonly failoverTimeoutMs: number;
}

/** The Sentinels of a deployment, as they run. */
export interface Sentinels {
  readonly settings: SentinelSettings;
  readonly nodes: readonly DeploymentNode[];
}

/** The least number of zones of which the loss of any leaves a majority. */
export const MIN_SENTINEL_ZONES = 3;

export function majority(count: number): number {
  return Math.floor(count / 2) + 1;
}

/** In zones in turn. */
export function placeSentinels(
  deployment: string,
  { count }: SentinelSettings,
  zones: readonly string[],
): PlacedNode[] {
  return spreadOverZones(
    Array.from({ length: count }, (_, index) => `${deployment}-sentinel-${index}`),
    zones,
  );
}

/** By its name. */
export function isSentinelName(deployment: string, name: string): boolean {
  return name.startsWith(`${deployment}-sentinel-`);
}

/** How a Sentinel is told to watch; by itself it finds the replicas and the other Sentinels. */
export function monitorCommands(
  name: string,
  primary: { readonly host: string; readonly port: number },
  settings: SentinelSettings,
  password: string | undefined,
): string[][] {
  const { quorum, downAfterMs, failoverTimeoutMs } = settings;
  const options = [
    ...(password === undefined ? [] : ["auth-pass", password]),
    "down-after-milliseconds",
    String(downAfterMs),
    "failover-timeout",
    String(failoverTimeoutMs),
    "parallel-syncs",
    "1",
  ];
  return [
    ["SENTINEL", "MONITOR", name, primary.host, String(primary.port), String(quorum)],
    ["SENTINEL", "SET", name, ...options],
  ];
}

/** The file a Sentinel starts with and keeps what it knows in. It watches nobody yet. */
export function sentinelConfig(own: {
  readonly host: string;
  readonly port: number;
  readonly directory: string;
  readonly log: string;
  readonly password: string;
}): string {
  return formatConfigFile(
    new Map([
      ["bind", own.host],
      ["bind-source-addr", own.host],
      ["port", String(own.port)],
      ["protected-mode", "yes"],
      ["requirepass", own.password],
      // To each other.
      ["sentinel sentinel-pass", own.password],
      // Addresses as they are bound: a cut between zones must cut Sentinels, too.
      ["sentinel announce-ip", own.host],
      ["sentinel announce-port", String(own.port)],
      ["dir", own.directory],
      ["logfile", own.log],
      ["daemonize", "no"],
    ]),
  );
}
