import type * as pulumi from "@pulumi/pulumi";
import type { Shape } from "../valkey/topology/placement";
import type { DeploymentArgs } from "./kubernetes/arguments";
import { KubernetesDeployment } from "./kubernetes-deployment";
import { ClusterServers } from "./kubernetes/servers/cluster-servers";

export interface ValkeyClusterArgs extends DeploymentArgs {
  /** Number of shards and of replicas per shard. A change moves slots while clients keep working. */
  readonly shape: Shape;
}

/**
 * A Valkey cluster. Resources that depend on it are created after all slots are served and the verification has passed.
 * A changed argument updates the running cluster. A new name of the component creates a new deployment, because every
 * Kubernetes object has this name as a part of its own.
 *
 * @example
 * const orders = new ValkeyCluster("orders", {
 *   shape: { primaries: 3, replicasPerPrimary: 1 },
 *   zones: ["us-west-2a", "us-west-2b", "us-west-2c"],
 * });
 * export const url = orders.url;
 */
export class ValkeyCluster extends KubernetesDeployment {
  /** `HOST:PORT` of each node for clients outside the Kubernetes cluster; empty without `external`. */
  declare readonly externalEndpoints: pulumi.Output<readonly string[]>;

  /** @throws BadInput when the name is not a host name, or the zones cannot keep replicas apart from their primaries */
  constructor(name: string, args: ValkeyClusterArgs, options?: pulumi.ComponentResourceOptions) {
    // A program without a type checker may give no arguments.
    const given = { ...args };
    const { shape } = given;
    super(
      "valkey:index:ValkeyCluster",
      name,
      { mode: "cluster", shape },
      given,
      options,
      (own, inside) => new ClusterServers(name, { ...own, shape }, inside),
    );
  }
}
