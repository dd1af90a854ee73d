/** What a server of this machine is to be, and its configuration file. Pure. */
import { join } from "node:path";
import type { Endpoint } from "../../valkey/node";
import { sentinelConfig } from "../../valkey/sentinel/plan";
import { formatConfigFile } from "../../valkey/settings";
import { supportsPingInterval, PING_INTERVAL_DIRECTIVE } from "../../valkey/topology/derived-settings";
import { LOOPBACK } from "./ports";
import type { Programs } from "./programs";

/** A server to be. */
export interface ServerPlan {
  readonly deployment: string;
  /** The node's name, unique in the run. */
  readonly name: string;
  readonly cluster: boolean;
  /** A Sentinel: the same program, that watches others and holds no data. @default false */
  readonly sentinel?: boolean | undefined;
  /** The address it listens on and calls others from. */
  readonly host: string;
  readonly password: string;
  /** Directive to value, as CONFIG GET prints them. */
  readonly directives: ReadonlyMap<string, string>;
  /** A file system of so many bytes for its data, of its own. @default the run directory's */
  readonly diskBytes?: number | undefined;
  /** The primary it follows from its start, in replication mode. */
  readonly replicaOf?: Endpoint | undefined;
  /** CPUs it is held to, as taskset takes them. @default wherever the kernel puts it */
  readonly cpus?: string | undefined;
}

/** Where it is: its directory, its data's, and its ports. */
export interface ServerLocation {
  readonly directory: string;
  readonly dataDirectory: string;
  readonly port: number;
  readonly busPort: number;
}

/** The text of its configuration file. @param programs what is to read it: no server starts with a directive that it does not know */
export function serverConfig(
  plan: ServerPlan,
  { directory, dataDirectory, port, busPort }: ServerLocation,
  { product, version }: Pick<Programs, "product" | "version">,
): string {
  if (plan.sentinel === true)
    return sentinelConfig({
      host: plan.host,
      port,
      directory: dataDirectory,
      log: join(directory, "log"),
      password: plan.password,
    });
  const own = new Map([
    ["bind", plan.host],
    // Only for an address that the kernel would not choose: a source that is bound takes a port of its own for every bus
    // link, and a hundred nodes use them up, while others share ports towards different nodes.
    ...(plan.host === LOOPBACK ? [] : [["bind-source-addr", plan.host] as const]),
    ["port", String(port)],
    ["protected-mode", "yes"],
    ["requirepass", plan.password],
    [product === "redis" ? "masterauth" : "primaryauth", plan.password],
    ["dir", dataDirectory],
    ["logfile", join(directory, "log")],
    ["daemonize", "no"],
    // The data is thrown away: no snapshot and no waiting for replicas when told to end.
    ["shutdown-on-sigterm", "nosave now force"],
    ["shutdown-on-sigint", "nosave now force"],
    ...(plan.cluster
      ? [
          ["cluster-enabled", "yes"] as const,
          ["cluster-config-file", "nodes.conf"] as const,
          ["cluster-port", String(busPort)] as const,
        ]
      : []),
    ...(plan.replicaOf === undefined ? [] : [["replicaof", `${plan.replicaOf.host} ${plan.replicaOf.port}`] as const]),
  ]);
  // Nobody has asked for this one: it is derived.
  const known = [...plan.directives].filter(
    ([name]) => name !== PING_INTERVAL_DIRECTIVE || supportsPingInterval(version),
  );
  return formatConfigFile(own) + formatConfigFile(new Map(known));
}
