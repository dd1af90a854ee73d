/** Redis or Dragonfly in replication mode on Kubernetes, to be compared with Valkey: native resources, pod 0 the primary, no failover. */
import * as pulumi from "@pulumi/pulumi";
import type { Engine } from "../valkey/engines";
import type { ServerArgs } from "./kubernetes/arguments";
import { createConfigMap } from "./kubernetes/config-map";
import type { DeploymentContext } from "./kubernetes/deployment-context";
import { podRevision } from "./kubernetes/deployment-context";
import { enginePod, hasVolumes } from "./kubernetes/pods/engine-pod";
import { directiveEngine, dragonflyFlags, dragonflyPasswordFlags, DRAGONFLY_FLAGS_FILE } from "./kubernetes/engines";
import { CLIENT_PORT, SERVER_CONTAINER } from "./kubernetes/layout";
import { createMetrics, EXPORTER_FILE, exporterPasswords } from "./kubernetes/metrics";
import { objectNames } from "./kubernetes/names";
import { createNetworkPolicy } from "./kubernetes/network-policy";
import { scriptFiles } from "./kubernetes/scripts";
import { createSecret } from "./kubernetes/secret";
import { PASSWORD_CONFIG, PASSWORD_FILE, passwordConfig, replicationConfig } from "./kubernetes/server-config";
import type { ServerPods } from "./kubernetes/pods/server-pods";
import { serverPods, serviceEndpoint } from "./kubernetes/pods/server-pods";
import { planZones } from "./kubernetes/pods/zone-plan";
import {
  createClientService,
  createDisruptionBudget,
  createHeadlessService,
  createServiceAccount,
  createStatefulSet,
} from "./valkey-cluster";

export interface EngineReplicationArgs extends ServerArgs {
  readonly engine: Exclude<Engine, "valkey">;
  /** Besides the one primary. */
  readonly replicas: number;
}

/** The name given is the deployment's: it names every object, so it never changes. Connections are plain TCP. */
export class EngineReplication extends pulumi.ComponentResource {
  readonly pods: ServerPods;
  /** Changes with what the pods are made of. */
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` of all nodes, the primary among them. */
  readonly endpoint: pulumi.Output<string>;

  /** @throws BadInput when the name makes no host name, or there are not the zones for its nodes */
  constructor(name: string, args: EngineReplicationArgs, options?: pulumi.ComponentResourceOptions) {
    const { nodes } = planZones(name, { primaries: 1, replicasPerPrimary: args.replicas }, args.placement.zones);
    const names = objectNames(name);
    super("valkey:kubernetes:EngineServers", name, {}, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };
    const config =
      args.engine === "dragonfly" ? `${dragonflyFlags(args.settings).join("\n")}\n` : replicationConfig(args.settings);

    const needed = [
      createHeadlessService(context, [CLIENT_PORT]),
      createConfigMap(context, names.config, { "valkey.conf": config }),
      createConfigMap(context, names.scripts, scriptFiles("replication")),
      createSecret(context, secretFiles(args)),
      createServiceAccount(context),
      createNetworkPolicy(context, [CLIENT_PORT]),
      createDisruptionBudget(context),
    ];
    const template = enginePod(context, config);
    createStatefulSet(context, nodes, template, needed, hasVolumes(args));
    createClientService(context);
    createMetrics(context);

    this.pods = serverPods(context, nodes, SERVER_CONTAINER);
    this.revision = podRevision(template);
    this.endpoint = serviceEndpoint(names.client, context);
    this.registerOutputs({ namespace: this.pods.namespace, endpoint: this.endpoint });
  }
}

/** The password for tools, for the server in its own words, and for the exporter where there is one. */
function secretFiles({ engine, metrics }: EngineReplicationArgs): Record<string, (password: string) => string> {
  return {
    [PASSWORD_FILE]: (password) => password,
    ...(engine === "dragonfly"
      ? { [DRAGONFLY_FLAGS_FILE]: dragonflyPasswordFlags }
      : { [PASSWORD_CONFIG]: (password: string) => passwordConfig(password, directiveEngine(engine)) }),
    ...(metrics === undefined ? {} : { [EXPORTER_FILE]: (password: string) => exporterPasswords(password, undefined) }),
  };
}
