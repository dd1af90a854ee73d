/** Redis or Dragonfly on Kubernetes, verified, for comparisons with Valkey. */
import * as pulumi from "@pulumi/pulumi";
import { BadInput } from "../lib/errors";
import { Formation, Rollout, DeploymentVerification } from "../provider/resources";
import type { Engine } from "../valkey/settings/engines";
import type { Mode } from "../valkey/node";
import type { Shape } from "../valkey/topology/placement";
import type { ComparedParts } from "./kubernetes/deployment/compared-deployment";
import { ComparedDeployment } from "./kubernetes/deployment/compared-deployment";
import type { DeploymentArgs } from "./kubernetes/deployment/deployment-args";
import { DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, serverArgs } from "./kubernetes/deployment/deployment-args";
import { checkedSettings } from "./kubernetes/deployment/checked-settings";
import { requireTag } from "./kubernetes/pods/image";
import { plannedReference, storageRequest } from "./kubernetes/deployment/resource-inputs";
import { deploymentPassword } from "./kubernetes/deployment/deployment-password";
import { ClusterServers } from "./kubernetes/servers/cluster-servers";
import { EngineServers } from "./kubernetes/servers/engine-servers";

/** Arguments that only Valkey has. */
type ValkeyOnly =
  | "tls"
  | "backup"
  | "restoreFrom"
  | "allowDowntime"
  | "users"
  | "external"
  | "passwordOverlapSeconds"
  | "proxyImage";

export interface EngineDeploymentArgs extends Omit<DeploymentArgs, ValkeyOnly | "image"> {
  readonly engine: Exclude<Engine, "valkey">;
  readonly image: string;
  /** Mode of the deployment. Dragonfly supports only replication mode here. */
  readonly mode: Mode;
  /** Number of shards and of replicas per shard. Replication mode has one shard. */
  readonly shape: Shape;
}

/**
 * Redis or Dragonfly for comparisons with Valkey, in the same kind of pods. In replication mode pod 0 is always the
 * primary. Connections are plain TCP. A change restarts pods, may lose data and does not update the password of running
 * servers, so destroy the deployment before you change it.
 */
export class EngineDeployment extends ComparedDeployment {
  /** @throws BadInput when the name is not a host name, there are too few zones, or settings are refused */
  constructor(name: string, args: EngineDeploymentArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:EngineDeployment", name, {}, options, (parent) => createParts(name, args, parent));
  }
}

function createParts(name: string, args: EngineDeploymentArgs, parent: pulumi.Resource): ComparedParts {
  const { engine, mode, shape, image, resources = DEFAULT_RESOURCES } = args;
  const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, trigger = 0 } = args;
  requireTag(image);
  const kind = { engine, mode, shape };
  const { settings, derived } = checkedSettings(name, kind, { ...args, image, resources });
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
  const formation = mode === "cluster" ? new Formation(name, { target, password, timeoutSeconds }, running) : undefined;
  const formationMs = formation?.milliseconds ?? pulumi.output(null);
  const { rolledOutAt } = rollout;
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
