/** The servers of a deployment without a chart: everything that ClusterServers and EngineServers have in common. */
import type { types } from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import type { ServerArgs } from "./arguments";
import { createConfigMap } from "./config-map";
import type { DeploymentContext } from "./deployment-context";
import { podRevision } from "./deployment-context";
import { SERVER_CONTAINER } from "./layout";
import { createMetrics, EXPORTER_FILE, exporterPasswords } from "./metrics";
import { createNetworkPolicy } from "./network-policy";
import type { ServerPods } from "./pods/server-pods";
import { serverPods, serviceEndpoint } from "./pods/server-pods";
import { scriptFiles } from "./scripts";
import type { ScriptSet } from "./scripts";
import { createSecret } from "./secret";
import type { SecretFiles } from "./server-config";
import { PASSWORD_FILE } from "./server-config";
import {
  createClientService,
  createDisruptionBudget,
  createHeadlessService,
  createServiceAccount,
  createStatefulSet,
} from "./server-objects";

/** Differences between the two topologies. */
export interface NativeServersPlan {
  readonly nodes: number;
  /** Text of the server's configuration file. */
  readonly config: string;
  readonly scripts: ScriptSet;
  /** Ports between the nodes. */
  readonly ports: readonly number[];
  readonly template: types.input.core.v1.PodTemplateSpec;
  readonly hasVolumes: boolean;
  /** Files of the secret that tell the server who may log in. */
  readonly accessFiles: SecretFiles;
}

/** Where the servers are, for whatever connects to them. */
export interface NativeServers {
  readonly pods: ServerPods;
  /** Changes with the pod template. */
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` of the client Service. */
  readonly endpoint: pulumi.Output<string>;
}

/**
 * StatefulSet, Services, configuration, password, disruption budget, network policy, service account, and the
 * exporter's objects where metrics are configured.
 */
export function createNativeServers(context: DeploymentContext, plan: NativeServersPlan): NativeServers {
  const { names, args } = context;
  const { nodes, config, template } = plan;
  const needed = [
    createHeadlessService(context, plan.ports),
    createConfigMap(context, names.config, { "valkey.conf": config }),
    createConfigMap(context, names.scripts, scriptFiles(plan.scripts)),
    createSecret(context, secretFiles(args, plan.accessFiles)),
    createServiceAccount(context),
    createNetworkPolicy(context, plan.ports),
    createDisruptionBudget(context),
  ];
  createStatefulSet(context, nodes, template, needed, plan.hasVolumes);
  createClientService(context);
  createMetrics(context);
  return {
    pods: serverPods(context, nodes, SERVER_CONTAINER),
    revision: podRevision(template),
    endpoint: serviceEndpoint(names.client, context),
  };
}

/** The password for tools, the files of the server, and one for the exporter. */
export function secretFiles({ metrics, tls }: ServerArgs, files: SecretFiles): SecretFiles {
  const exporter: SecretFiles = { [EXPORTER_FILE]: ({ password }) => exporterPasswords(password, tls) };
  return { [PASSWORD_FILE]: ({ password }) => password, ...files, ...(metrics === undefined ? {} : exporter) };
}
