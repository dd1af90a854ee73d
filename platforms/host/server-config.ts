import { join } from "node:path";
import { compact } from "../../lib/compact";
import type { Endpoint } from "../../valkey/node";
import { sentinelConfig } from "../../valkey/sentinel-config";
import { supportsZoneDirective, ZONE_DIRECTIVE } from "../../valkey/availability-zone";
import { formatConfigFile } from "../../valkey/settings/settings";
import { supportsPingInterval, PING_INTERVAL_DIRECTIVE } from "../../valkey/planning/derived-settings";
import { LOOPBACK } from "./ports";
import type { Programs } from "./programs/programs";

export interface ServerPlan {
  readonly deployment: string;
  readonly name: string;
  readonly cluster: boolean;
  /** Servers that know the availability-zone directive report the zone to clients. @default none */
  readonly zone?: string | undefined;
  /** Whether the process is a Sentinel, which is the server program without data. @default false */
  readonly sentinel?: boolean | undefined;
  readonly host: string;
  readonly password: string;
  readonly directives: ReadonlyMap<string, string>;
  readonly diskBytes?: number | undefined;
  readonly replicaOf?: Endpoint | undefined;
  readonly cpus?: string | undefined;
}

interface ServerLocation {
  readonly directory: string;
  readonly dataDirectory: string;
  readonly port: number;
  readonly busPort: number;
}

export function primaryPasswordDirective({ product }: Pick<Programs, "product">): string {
  return product === "redis" ? "masterauth" : "primaryauth";
}

/** Omits directives that the version does not know: the server would not start. @param programs of the server */
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
      // Set only for an address that the kernel would not choose by itself. With a bound source address every link of
      // the cluster bus takes its own port, so a hundred nodes would use up all ports. Without a bound source address,
      // connections to different nodes can share a port.
      plan.host === LOOPBACK ? undefined : (["bind-source-addr", plan.host] as const),
      ["port", String(port)],
      ["protected-mode", "yes"],
      ["requirepass", plan.password],
      [primaryPasswordDirective({ product }), plan.password],
      ["dir", dataDirectory],
      ["logfile", join(directory, "log")],
      ["daemonize", "no"],
      // The data is deleted after the run. So a server that stops neither saves a snapshot nor waits for replicas.
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
  // This directive is derived, not configured. So it is left out if the server does not know it.
  const known = [...plan.directives].filter(
    ([name]) => name !== PING_INTERVAL_DIRECTIVE || supportsPingInterval(version),
  );
  return formatConfigFile(own) + formatConfigFile(new Map(known));
}
