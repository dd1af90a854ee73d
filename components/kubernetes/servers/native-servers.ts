/** The servers of a deployment: everything that all topologies and engines have in common. */
import type * as pulumi from "@pulumi/pulumi";
import { compact } from "../../../lib/compact";
import type { ServerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { podRevision } from "../deployment-context";
import type * as k8s from "../kubernetes-sdk";
import { createConfig, createSecret } from "../files";
import { createMetrics, EXPORTER_FILE, exporterPasswords } from "../pods/metrics";
import { createNetworkPolicy } from "../network-policy";
import type { ServerRole } from "../pods/server-pod";
import { serverPod } from "../pods/server-pod";
import type { ServerPods } from "../pods/server-pods";
import { serverPods } from "../pods/server-pods";
import { hasVolumes } from "../pods/volumes";
import { scriptFiles } from "../scripts";
import type { ScriptSet } from "../scripts";
import type { SecretFiles } from "../server-config";
import { PASSWORD_FILE } from "../server-config";
import {
  createDisruptionBudget,
  createHeadlessService,
  createPrimaryFile,
  createServiceAccount,
  createStatefulSet,
} from "./server-objects";

/** Differences between topologies and engines. */
export interface NativeServersPlan {
  readonly nodes: number;
  /** Text of the server's configuration file. */
  readonly config: string;
  /** The same without settings that running servers take: another text restarts the pods one by one. */
  readonly restarting: string;
  readonly scripts: ScriptSet;
  readonly role: ServerRole;
  /** Files of the secret that tell the server who may log in. */
  readonly accessFiles: SecretFiles;
  /**
   * Whether Sentinels elect the primary, and ask the servers, or `up` designates it.
   * @default neither: nodes of a cluster decide, or nobody does
   */
  readonly primary?: "elected" | "designated" | undefined;
}

/** Where the servers are, for whatever connects to them. */
export interface NativeServers {
  readonly pods: ServerPods;
  /** Changes with the pod template. */
  readonly revision: pulumi.Output<string>;
  readonly secret: k8s.core.v1.SecretPatch;
  /** Files, account and rules that pods start with: a pod that starts before its scripts are there fails for up to a minute. */
  readonly needed: readonly pulumi.Resource[];
}

/**
 * StatefulSet, Service of the pods' names, configuration, password, disruption budget, network policy, service account, and the
 * exporter's objects where metrics are configured.
 */
export function createNativeServers(context: DeploymentContext, plan: NativeServersPlan): NativeServers {
  const { names, args } = context;
  const { nodes, config, restarting, role, primary } = plan;
  const template = serverPod(context, restarting, role);
  const secret = createSecret(context, secretFiles(args, plan.accessFiles));
  const needed = compact([
    createHeadlessService(context, role.ports),
    // Scripts of replication ask as many others. A change restarts no pod.
    createConfig(context, names.config, { "valkey.conf": config, servers: `${nodes}\n` }),
    createConfig(context, names.scripts, scriptFiles(plan.scripts)),
    secret,
    createServiceAccount(context),
    createNetworkPolicy(context, role.ports, primary === "elected"),
    createDisruptionBudget(context),
    primary === undefined ? undefined : createPrimaryFile(context),
  ]);
  createStatefulSet(context, nodes, template, needed, hasVolumes(args), primary === "designated");
  createMetrics(context);
  return { pods: serverPods(context, nodes), revision: podRevision(template), secret, needed };
}

/** The password for tools, the files of the server, and one for the exporter. */
function secretFiles({ metrics, tls }: ServerArgs, files: SecretFiles): SecretFiles {
  const exporter: SecretFiles = { [EXPORTER_FILE]: ({ password }) => exporterPasswords(password, tls) };
  return { [PASSWORD_FILE]: ({ password }) => password, ...files, ...(metrics === undefined ? {} : exporter) };
}
