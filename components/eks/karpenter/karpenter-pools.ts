/** Pools of machines for servers and load generators, on a cluster that has Karpenter. */
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { BadInput } from "../../../lib/errors";
import type { PoolName, PoolSettings } from "../../../platforms/eks/pools/pools";
import { completePools, POOLS, poolObjectName } from "../../../platforms/eks/pools/pools";
import { limitProblems, poolProblems } from "../../../platforms/eks/pools/pool-problems";
import { EKS_VERSIONS } from "../aws/versions";
import { type PoolCluster, nodeClassOf, nodePoolOf } from "./pool-objects";

export interface KarpenterPoolsArgs
  extends
    Pick<PoolCluster, "clusterName" | "nodeRole" | "zones" | "subnetIds" | "securityGroupIds">,
    Partial<Pick<PoolCluster, "machineImage" | "tags">> {
  /** Pools, each with the highest number of vCPUs that it may have. */
  readonly pools: PoolSettings;
}

/** A machine takes minutes to detach its volumes. */
const TIMEOUTS = { create: "10m", delete: "30m" };

/**
 * A NodePool and an EC2NodeClass per pool. The order of deletion is: the machines of the pool, its NodePool, its
 * EC2NodeClass, the controller. Resources with pods on the machines must depend on this component. The pods need the
 * node selector `poolSelector`, the toleration `poolToleration`, and the node selector `machineSetSelector`, which
 * names the set of machines that the pods share.
 *
 * @example
 * const pools = new KarpenterPools("valkey", {
 *   clusterName: "production",
 *   nodeRole: "production-karpenter-node",
 *   zones: ["us-west-2a", "us-west-2b", "us-west-2c"],
 *   pools: { servers: { instanceTypes: ["r8g.large"], vcpuLimit: 24 } },
 * });
 */
export class KarpenterPools extends pulumi.ComponentResource {
  /** NodePools by name of the pool, for each pool that is configured. */
  readonly pools: ReadonlyMap<PoolName, k8s.apiextensions.CustomResource>;

  /**
   * @param options `provider` is the Kubernetes provider of the cluster; `dependsOn` names Karpenter
   * @throws BadInput with every reason why the pools are refused, before any resource is declared
   */
  constructor(name: string, args: KarpenterPoolsArgs, options?: pulumi.ComponentResourceOptions) {
    const pools = completePools(args.pools);
    const problems = [...poolProblems(pools), ...limitProblems(pools)];
    if (problems.length > 0) throw new BadInput(`KarpenterPools ${name}`, problems);
    super("valkey:index:KarpenterPools", name, {}, options);
    const cluster = { machineImage: EKS_VERSIONS.machineImage, tags: {}, ...args };
    const made = new Map<PoolName, k8s.apiextensions.CustomResource>();
    for (const pool of POOLS) {
      const settings = pools[pool];
      if (settings === undefined) continue;
      const object = `${name}-${poolObjectName(pool)}`;
      const nodeClass = this.object(`${object}-class`, {
        apiVersion: "karpenter.k8s.aws/v1",
        kind: "EC2NodeClass",
        ...nodeClassOf(pool, settings, cluster),
      });
      const nodePool = {
        apiVersion: "karpenter.sh/v1",
        kind: "NodePool",
        ...nodePoolOf(pool, settings, cluster),
      };
      made.set(pool, this.object(object, nodePool, [nodeClass]));
    }
    this.pools = made;
    this.registerOutputs({});
  }

  private object(
    name: string,
    { metadata, ...object }: ReturnType<typeof nodeClassOf> & { readonly apiVersion: string; readonly kind: string },
    dependsOn: pulumi.Resource[] = [],
  ): k8s.apiextensions.CustomResource {
    // Pulumi waits for a custom resource only with the annotation waitFor. With foreground deletion a pool's machines
    // are removed before the pool.
    const annotations = {
      "pulumi.com/waitFor": "condition=Ready",
      "pulumi.com/deletionPropagationPolicy": "foreground",
    };
    return new k8s.apiextensions.CustomResource(
      name,
      { ...object, metadata: { ...metadata, annotations } },
      { parent: this, dependsOn, customTimeouts: TIMEOUTS },
    );
  }
}
