/** Configuration of Sentinels on this machine. Pods have `components/kubernetes/scripts/sentinel.sh`. */
import type { DeploymentNode } from "./node";
import { formatConfigFile } from "./settings/settings";
import { type PlacedNode, spreadOverZones } from "./topology/placement";

/**
 * Number of a deployment's Sentinels, and rules for their failovers. The defaults are in
 * `sentinel/sentinel-settings.ts`.
 */
export interface SentinelSettings {
  /** Number of Sentinels. The number is odd: for example, 4 Sentinels tolerate no more failures than 3. */
  readonly count: number;
  /**
   * Number of Sentinels that must report the primary as down before a failover. Independent of this number, a majority
   * of all Sentinels must elect the Sentinel that carries out the failover.
   */
  readonly quorum: number;
  /** Milliseconds without a reply after which a Sentinel reports a node as down (`down-after-milliseconds`). */
  readonly downAfterMs: number;
  /** Milliseconds after which an unfinished failover is started again (`failover-timeout`). */
  readonly failoverTimeoutMs: number;
}

/** The running Sentinels of a deployment. */
export interface Sentinels {
  readonly settings: SentinelSettings;
  readonly nodes: readonly DeploymentNode[];
}

/** Lowest number of zones at which a majority of the Sentinels survives the loss of any zone. */
export const MIN_SENTINEL_ZONES = 3;

export function majority(count: number): number {
  return Math.floor(count / 2) + 1;
}

/** The Sentinels are distributed over the zones in turn. */
export function placeSentinels(
  deployment: string,
  { count }: SentinelSettings,
  zones: readonly string[],
): PlacedNode[] {
  const names = Array.from({ length: count }, (_, index) => `${deployment}-sentinel-${index}`);
  return spreadOverZones(names, zones);
}

export function isSentinelName(deployment: string, name: string): boolean {
  return name.startsWith(`${deployment}-sentinel-`);
}

export function monitorCommands(
  name: string,
  primary: { readonly host: string; readonly port: number },
  settings: SentinelSettings,
  password: string | undefined,
): string[][] {
  const { quorum, downAfterMs, failoverTimeoutMs } = settings;
  const options = [
    ...(password === undefined ? [] : ["auth-pass", password]),
    ...["down-after-milliseconds", String(downAfterMs)],
    ...["failover-timeout", String(failoverTimeoutMs)],
    ...["parallel-syncs", "1"],
  ];
  return [
    ["SENTINEL", "MONITOR", name, primary.host, String(primary.port), String(quorum)],
    ["SENTINEL", "SET", name, ...options],
  ];
}

/** With this file, a Sentinel monitors no primary yet. Later the Sentinel writes its state to this file. */
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
      // The password with which Sentinels connect to each other.
      ["sentinel sentinel-pass", own.password],
      // A Sentinel announces the address on which it listens, so that a partition between zones also separates the
      // Sentinels.
      ["sentinel announce-ip", own.host],
      ["sentinel announce-port", String(own.port)],
      ["dir", own.directory],
      ["logfile", own.log],
      ["daemonize", "no"],
    ]),
  );
}
