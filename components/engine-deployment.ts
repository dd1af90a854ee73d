/** Redis or Dragonfly on Kubernetes, verified, for comparisons with Valkey. */
import * as pulumi from "@pulumi/pulumi";
import { BadInput } from "../lib/errors";
import { Formation, Rollout, DeploymentVerification } from "../operations/provider/resources";
import type { VALKEY_FIELDS } from "../model/deployment";
import type { VALKEY_POD_FIELDS } from "../model/pods";
import type { Engine } from "../valkey/settings/engines";
import type { Mode } from "../valkey/node";
import type { Shape } from "../valkey/topology/placement";
import { type ComparedParts, ComparedDeployment } from "./kubernetes/deployment/compared-deployment";
import type { DeploymentArgs } from "./kubernetes/arguments";
import { DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, serverArgs } from "./kubernetes/deployment/deployment-args";
import { checkedSettings } from "./kubernetes/deployment/checked-settings";
import { plannedReference, storageRequest } from "./kubernetes/deployment/resource-inputs";
import { deploymentPassword } from "./kubernetes/deployment/deployment-password";
import { ClusterServers } from "./kubernetes/servers/cluster-servers";
import { toDirectives } from "../valkey/settings/settings";
import type { ServerArgs } from "./kubernetes/arguments";
import { clientServices } from "./kubernetes/servers/client-services";
import type { DeploymentContext } from "./kubernetes/deployment-context";
import { directiveEngine, DRAGONFLY_FLAGS_FILE, dragonflyFlags, dragonflyPasswordFlags } from "./kubernetes/engines";
import { objectNames } from "./kubernetes/names";
import { createNativeServers } from "./kubernetes/servers/native-servers";
import { comparedRole } from "./kubernetes/pods/replication-role";
import { createServices } from "./kubernetes/servers/server-objects";
import { type ServerPods, serviceEndpoint } from "./kubernetes/pods/server-pods";
import { planZones } from "./kubernetes/pods/zone-plan";
import { type SecretFiles, accessFiles, replicationConfig } from "./kubernetes/server-config";

type ValkeyOnly = keyof typeof VALKEY_FIELDS | keyof typeof VALKEY_POD_FIELDS | "backup" | "restoreFrom" | "users";

export interface EngineDeploymentArgs extends Omit<DeploymentArgs, ValkeyOnly | "image"> {
  readonly engine: Exclude<Engine, "valkey">;
  readonly image: string;
  /** Dragonfly supports only replication mode here. */
  readonly mode: Mode;
  /** Replication mode has one shard. */
  readonly shape: Shape;
}

/**
 * In replication mode pod 0 is always the primary. A change restarts pods, may lose data and does not update the
 * password of running servers, so destroy the deployment before you change it.
 */
export class EngineDeployment extends ComparedDeployment {
  /** @throws BadInput when the name is not a host name, there are too few zones, or settings are refused */
  constructor(name: string, args: EngineDeploymentArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:EngineDeployment", name, {}, options, (parent) => createParts(name, { ...args }, parent));
  }
}

function createParts(name: string, args: EngineDeploymentArgs, parent: pulumi.Resource): ComparedParts {
  const { engine, mode, shape, image, resources = DEFAULT_RESOURCES } = args;
  const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, trigger = 0 } = args;
  const kind = { engine, mode, shape };
  const { settings, derived } = checkedSettings(
    name,
    kind,
    { ...args, image, resources },
    { own: ["engine", "mode", "shape"] },
  );
  for (const each of derived) void pulumi.log.info(each, parent);
  const password = deploymentPassword(name, args, parent);
  const own = serverArgs(name, { ...args, settings, controller: false }, password);
  const servers = createServers(name, { ...own, ...kind }, { parent });
  const { endpoint, revision } = servers;
  const planned = plannedReference(name, kind, own, args);
  const target = pulumi.all([planned, endpoint]).apply(([known, service]) => ({ ...known, service }));
  const storage = storageRequest({ ...own, engine });
  const rollout = new Rollout(
    name,
    { target, password, revision, storage, timeoutSeconds },
    { parent, dependsOn: [servers] },
  );
  const running = { parent, dependsOn: [rollout] };
  const formation = new Formation(name, { target, password, users: {}, timeoutSeconds }, running);
  const formationMs = formation.cluster.milliseconds;
  const { rolledOutAt } = rollout.pods;
  const check = new DeploymentVerification(
    name,
    { target, password, formationMs, revision, timeoutSeconds, trigger, rolledOutAt },
    running,
  );
  return { endpoint, password, formationMs, reference: target, check };
}

function createServers(
  name: string,
  {
    engine,
    mode,
    shape,
    ...args
  }: ReturnType<typeof serverArgs> & Pick<EngineDeploymentArgs, "engine" | "mode" | "shape">,
  options: pulumi.ComponentResourceOptions,
): ClusterServers | EngineServers {
  if (mode === "replication")
    return new EngineServers(name, { ...args, engine, replicas: shape.replicasPerPrimary }, options);
  if (engine === "dragonfly")
    throw BadInput.of(
      name,
      "engine-without-cluster",
      "this project runs dragonfly without cluster mode; expected replication",
      "mode",
    );
  return new ClusterServers(name, { ...args, engine, shape }, options);
}

export interface EngineServersArgs extends Omit<ServerArgs, "tls"> {
  readonly engine: Exclude<Engine, "valkey">;
  readonly replicas: number;
}

/** A new name creates a new deployment, as objects have the component's name. */
export class EngineServers extends pulumi.ComponentResource {
  readonly pods: ServerPods;
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

/** Flags for Dragonfly, directives for Redis. */
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
