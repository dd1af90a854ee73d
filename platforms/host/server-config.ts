/** The plan of a server on this machine, and its configuration file. Pure. */
import { join } from "node:path";
import { compact } from "../../lib/compact";
import type { Endpoint } from "../../valkey/node";
import { sentinelConfig } from "../../valkey/sentinel-plan";
import { supportsZoneDirective, ZONE_DIRECTIVE } from "../../valkey/availability-zone";
import { formatConfigFile } from "../../valkey/settings/settings";
import { supportsPingInterval, PING_INTERVAL_DIRECTIVE } from "../../valkey/planning/derived-settings";
import { LOOPBACK } from "./ports";
import type { Programs } from "./programs/programs";

/** A server to start. */
export interface ServerPlan {
  readonly deployment: string;
  /** The node's name, unique in the run. */
  readonly name: string;
  readonly cluster: boolean;
  /** Told to clients by servers that have the directive. @default none */
  readonly zone?: string | undefined;
  /** Whether it is a Sentinel: the same program, without data. @default false */
  readonly sentinel?: boolean | undefined;
  /** The address that it listens on and connects from. */
  readonly host: string;
  readonly password: string;
  /** Directive to value, as CONFIG GET prints them. */
  readonly directives: ReadonlyMap<string, string>;
  /** The size of a separate file system for its data, bytes. @default the run directory's file system */
  readonly diskBytes?: number | undefined;
  /** The primary that it replicates from its start, in replication mode. */
  readonly replicaOf?: Endpoint | undefined;
  /** The CPUs that it may use, as taskset takes them. @default all CPUs */
  readonly cpus?: string | undefined;
}

/** The directories and ports of a server. */
export interface ServerLocation {
  readonly directory: string;
  readonly dataDirectory: string;
  readonly port: number;
  readonly busPort: number;
}

/** The directive by which a replica shows its password. */
export function primaryPasswordDirective({ product }: Pick<Programs, "product">): string {
  return product === "redis" ? "masterauth" : "primaryauth";
}

/**
 * The text of a server's configuration file.
 * @param programs decide the directives: a server does not start with an unknown one
 */
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
  const own = new Map(
    compact([
      ["bind", plan.host],
      // Only for an address that the kernel would not choose: a bound source address takes its own port for every bus link, and a
      // hundred nodes would use up all ports. Unbound connections to different nodes share ports.
      plan.host === LOOPBACK ? undefined : (["bind-source-addr", plan.host] as const),
      ["port", String(port)],
      ["protected-mode", "yes"],
      ["requirepass", plan.password],
      [primaryPasswordDirective({ product }), plan.password],
      ["dir", dataDirectory],
      ["logfile", join(directory, "log")],
      ["daemonize", "no"],
      // The data is deleted after the run: no snapshot, and no waiting for replicas, at the end.
      ["shutdown-on-sigterm", "nosave now force"],
      ["shutdown-on-sigint", "nosave now force"],
      ...(plan.cluster
        ? [
            ["cluster-enabled", "yes"] as const,
            ["cluster-config-file", "nodes.conf"] as const,
            ["cluster-port", String(busPort)] as const,
          ]
        : []),
      plan.zone !== undefined && product === "valkey" && supportsZoneDirective(version)
        ? ([ZONE_DIRECTIVE, plan.zone] as const)
        : undefined,
      plan.replicaOf && (["replicaof", `${plan.replicaOf.host} ${plan.replicaOf.port}`] as const),
    ]),
  );
  // This directive is derived, not configured, so it is left out where the server does not know it.
  const known = [...plan.directives].filter(
    ([name]) => name !== PING_INTERVAL_DIRECTIVE || supportsPingInterval(version),
  );
  return formatConfigFile(own) + formatConfigFile(new Map(known));
}
