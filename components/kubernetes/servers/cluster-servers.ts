/** A Valkey cluster on Kubernetes, or a Redis cluster for comparisons. */
import * as pulumi from "@pulumi/pulumi";
import { splitDirectives } from "../../../valkey/settings/dynamic-settings";
import { toDirectives } from "../../../valkey/settings/settings";
import type { Shape } from "../../../valkey/topology/placement";
import type { ServerArgs } from "../arguments";
import { clientServices } from "./client-services";
import type { DeploymentContext } from "../deployment-context";
import { directiveEngine, ENGINE_PROGRAMS } from "../engines";
import { createNodeServices } from "./external-services";
import { objectNames } from "../names";
import { createNativeServers } from "./native-servers";
import { createServices } from "./server-objects";
import { type ServerPods, serviceEndpoint } from "../pods/server-pods";
import { planClusterZones } from "../pods/zone-plan";
import { accessFiles, clusterConfig } from "../server-config";
import { ANNOUNCED_DIRECTORY, BUS_PORT, CLIENT_PORT, CONFIG_FILE, HAND_OVER_SECONDS } from "../layout";
import { scriptCommand } from "../scripts";
import { serverProbes } from "../pods/probes";
import { type ServerRole, hostInPod, zoneArguments } from "../pods/server-pod";

interface ClusterServersArgs extends ServerArgs {
  /** A new shape changes only the field `replicas` of the StatefulSet. */
  readonly shape: Shape;
}

/**
 * At first, a pod is ready as soon as its server answers; after the resource `Formation`, while its node serves its
 * part. A new name creates a new deployment, as objects have the component's name.
 */
export class ClusterServers extends pulumi.ComponentResource {
  readonly pods: ServerPods;
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` at which clients in the Kubernetes cluster discover all nodes. */
  readonly endpoint: pulumi.Output<string>;

  /** @throws BadInput when the name is not a host name, or the zones cannot keep replicas apart from their primaries */
  constructor(name: string, args: ClusterServersArgs, options?: pulumi.ComponentResourceOptions) {
    const { nodes } = planClusterZones(name, args.shape, args.placement.zones);
    const names = objectNames(name);
    super("valkey:kubernetes:ClusterServers", name, {}, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };
    const directives = toDirectives(args.settings);
    // Redis gets every changed setting by a restart.
    const restart = args.engine === "redis" ? directives : splitDirectives(directives).restart;

    const servers = createNativeServers(context, {
      nodes,
      config: clusterConfig(directives, args.tls),
      restarting: clusterConfig(restart, args.tls),
      scripts: "cluster",
      role: clusterRole(context),
      accessFiles: accessFiles(directiveEngine(args.engine)),
    });

    // One Service for clients, which leads to all nodes.
    createServices(context, clientServices(names, { engine: args.engine, mode: "cluster" }));
    if (args.external !== undefined) createNodeServices(context, nodes);
    this.pods = servers.pods;
    this.revision = servers.revision;
    this.endpoint = serviceEndpoint(names.client, context);
    this.registerOutputs({ namespace: this.pods.namespace, endpoint: this.endpoint });
  }
}

function clusterRole(context: DeploymentContext): ServerRole {
  const { names, args } = context;
  const engine = directiveEngine(args.engine);
  return {
    command: [
      ...scriptCommand("start-cluster.sh", String(args.onSilentReplica ?? "default")),
      ...[ENGINE_PROGRAMS[engine].server, CONFIG_FILE],
      // Without this argument a server announces the address in its nodes.conf, which is outdated after a restart.
      ...["--cluster-announce-ip", "$(POD_IP)"],
      ...["--cluster-announce-hostname", `$(POD_NAME).${hostInPod(names.headless, context)}`],
      ...zoneArguments(context),
      // The argument is a pattern, because an included pattern may match no file. A plain file name must exist.
      ...(engine === "valkey" ? ["--include", `${ANNOUNCED_DIRECTORY}/$(POD_NAME).conf*`] : []),
    ],
    variables: { SERVICE: hostInPod(names.client, context) },
    ports: [CLIENT_PORT, BUS_PORT],
    probes: serverProbes("cluster", args.tls !== undefined, engine),
    preStop: scriptCommand("hand-over.sh", String(HAND_OVER_SECONDS)),
    // These volumes are always present, so that adding or removing `external` restarts no pod.
    volumes: [
      {
        volume: { name: "announced", configMap: { name: names.announced, optional: true } },
        directory: ANNOUNCED_DIRECTORY,
      },
    ],
  };
}
