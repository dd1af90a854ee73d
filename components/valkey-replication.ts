/** Valkey in replication mode on Kubernetes, by the upstream chart, verified. */
import type * as pulumi from "@pulumi/pulumi";
import type { DeploymentArgs } from "./deployment-args";
import { KubernetesDeployment } from "./kubernetes-deployment";
import type { ReplicationServersArgs } from "./servers/replication-servers";
import { ReplicationServers } from "./servers/replication-servers";

export interface ValkeyReplicationArgs
  extends DeploymentArgs, Pick<ReplicationServersArgs, "replicas" | "sentinel" | "chart" | "failoverNodeSelectors"> {}

/**
 * What depends on it finds a primary whose replicas are linked, and that has passed verification. Without Sentinels pod
 * 0 is always the primary. The name is the deployment's and is part of every object's name: another name is another
 * deployment.
 *
 * @example
 * const sessions = new ValkeyReplication("sessions", { replicas: 2, zones: ["us-west-2a", "us-west-2b"] });
 * export const url = sessions.url;
 */
export class ValkeyReplication extends KubernetesDeployment {
  /** `HOST:PORT` of all nodes, with the primary. */
  readonly readEndpoint: pulumi.Output<string>;
  /** As `endpoint`, for clients outside the Kubernetes cluster; undefined without `external`. */
  readonly externalEndpoint: pulumi.Output<string | undefined>;
  /** As `readEndpoint`, for clients outside; undefined without `external`. */
  readonly externalReadEndpoint: pulumi.Output<string | undefined>;

  /** @throws BadInput when the name is no host name, or there are too few zones */
  constructor(name: string, args: ValkeyReplicationArgs, options?: pulumi.ComponentResourceOptions) {
    const { replicas, sentinel, chart, failoverNodeSelectors } = args;
    const shape = { primaries: 1, replicasPerPrimary: replicas };
    let servers: ReplicationServers | undefined;
    super(
      "valkey:index:ValkeyReplication",
      name,
      { engine: "valkey", mode: "replication", shape, sentinel },
      args,
      options,
      (own, inside) => {
        servers = new ReplicationServers(name, { ...own, replicas, sentinel, chart, failoverNodeSelectors }, inside);
        return servers;
      },
    );
    if (servers === undefined) throw new Error(`${name} has no servers`);
    this.readEndpoint = servers.readEndpoint;
    this.externalEndpoint = this.externalEndpoints.apply(([primary]) => primary);
    this.externalReadEndpoint = this.externalEndpoints.apply(([, all]) => all);
  }
}
