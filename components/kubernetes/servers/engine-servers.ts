/** Redis or Dragonfly in replication mode on Kubernetes, for comparisons with Valkey. */
import * as pulumi from "@pulumi/pulumi";
import type { Engine } from "../../../valkey/settings/engines";
import { toDirectives } from "../../../valkey/settings/settings";
import type { ServerArgs } from "../arguments";
import { clientServices } from "./client-services";
import type { DeploymentContext } from "../deployment-context";
import { directiveEngine, DRAGONFLY_FLAGS_FILE, dragonflyFlags, dragonflyPasswordFlags } from "../engines";
import { objectNames } from "../names";
import { createNativeServers } from "./native-servers";
import { comparedRole } from "../pods/replication-role";
import { createServices } from "./server-objects";
import type { ServerPods } from "../pods/server-pods";
import { serviceEndpoint } from "../pods/server-pods";
import { planZones } from "../pods/zone-plan";
import type { SecretFiles } from "../server-config";
import { accessFiles, replicationConfig } from "../server-config";

export interface EngineServersArgs extends Omit<ServerArgs, "tls"> {
  readonly engine: Exclude<Engine, "valkey">;
  /** Number of replicas of the one primary. */
  readonly replicas: number;
}

/**
 * Servers of Redis or Dragonfly in replication mode. Pod 0 is the primary; there is no failover, and connections are
 * plain TCP. The component's name is part of the name of every Kubernetes object, so a new name creates a new
 * deployment.
 */
export class EngineServers extends pulumi.ComponentResource {
  /** Location of the nodes' pods. */
  readonly pods: ServerPods;
  /** Checksum that changes with the pod template. */
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` that routes to all nodes, including the primary. */
  readonly endpoint: pulumi.Output<string>;

  /** @throws BadInput when the name is not a host name, or there are too few zones */
  constructor(name: string, args: EngineServersArgs, options?: pulumi.ComponentResourceOptions) {
    const { nodes } = planZones(name, { primaries: 1, replicasPerPrimary: args.replicas }, args.placement.zones);
    const names = objectNames(name);
    super("valkey:kubernetes:EngineServers", name, {}, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };
    const { config, accessFiles } = serverFiles(args);

    const servers = createNativeServers(context, {
      nodes,
      config,
      restarting: config,
      scripts: "compared",
      role: comparedRole(context),
      accessFiles,
    });

    createServices(context, clientServices(names, { engine: args.engine, mode: "replication" }));
    this.pods = servers.pods;
    this.revision = servers.revision;
    this.endpoint = serviceEndpoint(names.client, context);
    this.registerOutputs({ namespace: this.pods.namespace, endpoint: this.endpoint });
  }
}

interface ServerFiles {
  readonly config: string;
  readonly accessFiles: SecretFiles;
}

/**
 * The configuration and the password, in the format that the engine reads: flags for Dragonfly, directives for Redis.
 */
function serverFiles({ engine, settings }: EngineServersArgs): ServerFiles {
  if (engine === "dragonfly") {
    const config = `${dragonflyFlags(settings).join("\n")}\n`;
    return { config, accessFiles: { [DRAGONFLY_FLAGS_FILE]: ({ password }) => dragonflyPasswordFlags(password) } };
  }
  return {
    config: replicationConfig(toDirectives(settings), { watched: false }),
    accessFiles: accessFiles(directiveEngine(engine)),
  };
}
