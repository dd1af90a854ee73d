/** Pools of machines for servers and load generators, on a cluster that has Karpenter. */
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { BadInput } from "../../../lib/errors";
import type { PoolName, PoolSettings } from "../../../platforms/eks/pools/pools";
import { completePools, POOLS, poolObjectName } from "../../../platforms/eks/pools/pools";
import { limitProblems, poolProblems } from "../../../platforms/eks/pools/pool-problems";
import { EKS_VERSIONS } from "../aws/versions";
import type { PoolCluster } from "./pool-objects";
import { nodeClassOf, nodePoolOf } from "./pool-objects";

export interface KarpenterPoolsArgs
  extends
    Pick<PoolCluster, "clusterName" | "nodeRole" | "zones" | "subnetIds" | "securityGroupIds">,
    Partial<Pick<PoolCluster, "machineImage" | "tags">> {
  /** Pools, each with the most vCPUs that it may have. */
  readonly pools: PoolSettings;
}

/** Time limits for machines to start and stop. A machine that detaches volumes takes minutes. */
const TIMEOUTS = { create: "10m", delete: "30m" };

/**
 * A NodePool and an EC2NodeClass per pool. A NodePool is deleted after its machines, and its class and the controller
 * after it. The pods on the machines depend on this component, and select the machines by `poolSelector`, tolerate them
 * by `poolToleration`, and name their set by `machineSetSelector`.
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
  /** By pool; those that are configured. */
  readonly pools: ReadonlyMap<PoolName, k8s.apiextensions.CustomResource>;

  /**
   * @param options `provider` of the cluster; `dependsOn` Karpenter
   * @throws BadInput with every reason why the pools are refused, before anything is declared
   */
  constructor(name: string, args: KarpenterPoolsArgs, options?: pulumi.ComponentResourceOptions) {
    const pools = completePools(args.pools);
    const problems = [...poolProblems(pools), ...limitProblems(pools)];
    if (problems.length > 0)
      throw new BadInput(
        `KarpenterPools ${name}`,
        problems.map(({ path, message }) => `${path.join(".")}: ${message}`),
      );
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
    // Pulumi waits for a custom resource only with waitFor. Deletion in the foreground removes a pool's machines first.
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
