/** Redis or Dragonfly on Kubernetes, verified, to compare Valkey with. */
import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../benchmarks/results/schema";
import { BadInput } from "../lib/errors";
import type { KubernetesReference } from "../platforms/deployment-reference";
import { Formation, Rollout, TopologyCheck } from "../provider/resources";
import type { Engine } from "../valkey/engines";
import type { Mode } from "../valkey/node";
import type { Shape } from "../valkey/topology/placement";
import type { DeploymentArgs } from "./deployment-args";
import { DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, serverArgs } from "./deployment-args";
import { checkedSettings } from "./kubernetes/deployment/checked-settings";
import { requireTag } from "./kubernetes/pods/image";
import { plannedReference, storageRequest } from "./kubernetes/deployment/resource-inputs";
import { wantedPassword } from "./kubernetes/deployment/wanted-password";
import { ClusterServers } from "./servers/cluster-servers";
import { EngineServers } from "./servers/engine-servers";

/** Arguments that only Valkey has. */
type ValkeyOnly = "tls" | "allowDowntime" | "users" | "external" | "passwordOverlapSeconds" | "proxyImage";

export interface EngineDeploymentArgs extends Omit<DeploymentArgs, ValkeyOnly | "image"> {
  readonly engine: Exclude<Engine, "valkey">;
  readonly image: string;
  /** Dragonfly has no clusters here. */
  readonly mode: Mode;
  /** Shards, and replicas of each; one shard in replication mode. */
  readonly shape: Shape;
}

/**
 * The pods of Valkey with the programs of another engine. In replication mode pod 0 is always the primary; connections are plain TCP.
 * A change restarts pods, and nothing takes care of data or of a password that running servers have: destroy it first.
 */
export class EngineDeployment extends pulumi.ComponentResource {
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Output<string>;
  /** Result of the last verification, with every row of the verdict. */
  readonly topology: pulumi.Output<TopologyRecord>;
  /** Time of the last verification, ISO 8601. */
  readonly verifiedAt: pulumi.Output<string>;
  /** Time from running pods to a cluster that serves, milliseconds; null in replication mode. */
  readonly formationMs: pulumi.Output<number | null>;
  /** Reference by which load generators and the command `verify` reach the deployment. Not secret. */
  readonly reference: pulumi.Output<KubernetesReference>;

  /** @throws BadInput when the name is not a host name, there are too few zones, or settings are refused */
  constructor(name: string, args: EngineDeploymentArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:EngineDeployment", name, {}, options);
    const { engine, mode, shape, image, resources = DEFAULT_RESOURCES } = args;
    const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, trigger = 0 } = args;
    requireTag(image);
    const kind = { engine, mode, shape };
    const { settings, derived } = checkedSettings(name, kind, { ...args, image, resources });
    for (const each of derived) void pulumi.log.info(each, this);
    const password = wantedPassword(name, args, this);
    const own = serverArgs(name, { ...args, settings }, password);
    const inside = { parent: this };
    const servers = createServers(name, { ...own, ...kind }, inside);
    const { revision } = servers;
    const planned = plannedReference(name, kind, own, args);
    const target = pulumi.all([planned, servers.endpoint]).apply(([known, service]) => ({ ...known, service }));
    const storage = storageRequest({ ...own, engine });
    const rollout = new Rollout(
      name,
      { target, password, revision, storage, timeoutSeconds },
      { ...inside, dependsOn: [servers] },
    );
    const running = { ...inside, dependsOn: [rollout] };
    const formation =
      mode === "cluster" ? new Formation(name, { target, password, timeoutSeconds }, running) : undefined;
    this.formationMs = formation?.milliseconds ?? pulumi.output(null);
    const { rolledOutAt } = rollout;
    const check = new TopologyCheck(
      name,
      { target, password, formationMs: this.formationMs, revision, timeoutSeconds, trigger, rolledOutAt },
      running,
    );
    this.endpoint = servers.endpoint;
    this.password = password;
    this.reference = target;
    this.topology = check.topology;
    this.verifiedAt = check.verifiedAt;
    const { endpoint, topology } = this;
    this.registerOutputs({ endpoint, password, topology });
  }
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
  if (engine === "dragonfly") throw new BadInput(name, ["mode: dragonfly has no clusters here; expected replication"]);
  return new ClusterServers(name, { ...args, engine, shape }, options);
}
