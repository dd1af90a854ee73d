import type * as pulumi from "@pulumi/pulumi";
import { compact } from "../../../lib/compact";
import type { ServerArgs } from "../arguments";
import { type DeploymentContext, podRevision } from "../deployment-context";
import type * as k8s from "../kubernetes-sdk";
import { createConfig, createSecret } from "../files";
import { createMetrics, EXPORTER_FILE, exporterPasswords } from "../pods/metrics";
import { createNetworkPolicy } from "../network-policy";
import { type ServerRole, serverPod } from "../pods/server-pod";
import { type ServerPods, serverPods } from "../pods/server-pods";
import { hasVolumes } from "../pods/pod-volumes";
import { scriptFiles, type ScriptSet } from "../scripts";
import { type SecretFiles, PASSWORD_FILE, SENTINEL_PASSWORD_FILE } from "../server-config";
import {
  createDisruptionBudget,
  createHeadlessService,
  createPrimaryFile,
  createServiceAccount,
  createStatefulSet,
} from "./server-objects";

interface NativeServersPlan {
  readonly nodes: number;
  readonly config: string;
  /** A change of this text restarts the pods one by one. */
  readonly restarting: string;
  readonly scripts: ScriptSet;
  readonly role: ServerRole;
  readonly accessFiles: SecretFiles;
  /**
   * `elected`: by Sentinels, which also connect to the servers. `designated`: by `up`.
   * @default neither: nodes of a cluster elect primaries themselves; for Redis and Dragonfly pod 0 is always the
   * primary
   */
  readonly primary?: "elected" | "designated" | undefined;
}

interface NativeServers {
  readonly pods: ServerPods;
  readonly revision: pulumi.Output<string>;
  readonly secret: k8s.core.v1.SecretPatch;
  /** A pod that starts before its scripts exist fails for up to a minute. */
  readonly needed: readonly pulumi.Resource[];
}

/** StatefulSet, headless Service, configuration, password, budget, network policy, service account, exporter. */
export function createNativeServers(context: DeploymentContext, plan: NativeServersPlan): NativeServers {
  const { names, args } = context;
  const { nodes, config, restarting, role, primary } = plan;
  const template = serverPod(context, restarting, role);
  // A Secret or ConfigMap is created without data, and a patch adds the data: a change of the data replaces no object.
  const secret = createSecret(context, secretFiles(args, plan.accessFiles));
  const needed = compact([
    createHeadlessService(context, role.ports),
    // The file `servers` tells the scripts of replication mode how many servers to ask. A new number restarts no pod.
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

/** Files of the Secret: the password for tools, the files of the server, and a file for the exporter. */
function secretFiles({ metrics, tls, sentinelPassword }: ServerArgs, files: SecretFiles): SecretFiles {
  const sentinels: SecretFiles = { [SENTINEL_PASSWORD_FILE]: (credentials) => credentials.sentinelPassword ?? "" };
  const exporter: SecretFiles = { [EXPORTER_FILE]: ({ password }) => exporterPasswords(password, tls) };
  return {
    [PASSWORD_FILE]: ({ password }) => password,
    ...files,
    ...(sentinelPassword === undefined ? {} : sentinels),
    ...(metrics === undefined ? {} : exporter),
  };
}
