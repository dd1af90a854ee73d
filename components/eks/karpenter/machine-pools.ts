/** The machine pools of a cluster, as Karpenter's objects. */
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { Pools } from "../../../platforms/eks/machine-plan";
import type { PoolName } from "../../../platforms/eks/pools";
import { POOLS, poolObjectName } from "../../../platforms/eks/pools";
import type { PoolCluster } from "./pool-objects";
import { nodeClassOf, nodePoolOf } from "./pool-objects";

export interface MachinePoolsArgs {
  readonly pools: Pools;
  /** Limit of each pool's vCPUs. */
  readonly vcpuLimits: Readonly<Partial<Record<PoolName, number>>>;
  readonly cluster: PoolCluster;
}

/** Time limits for machines to start and stop. A machine that detaches volumes takes minutes. */
const TIMEOUTS = { create: "10m", delete: "30m" };

/**
 * A NodePool and an EC2NodeClass per pool. A NodePool is deleted after its machines, and its class and the controller
 * after it. The pods on the machines depend on this component.
 */
export class MachinePools extends pulumi.ComponentResource {
  /** By pool; those that are configured. */
  readonly pools: ReadonlyMap<PoolName, k8s.apiextensions.CustomResource>;

  /** @param opts `provider` of the cluster; `dependsOn` Karpenter */
  constructor(name: string, { pools, vcpuLimits, cluster }: MachinePoolsArgs, opts: pulumi.ComponentResourceOptions) {
    super("valkey:eks:MachinePools", name, {}, opts);
    const made = new Map<PoolName, k8s.apiextensions.CustomResource>();
    for (const pool of POOLS) {
      const args = pools[pool];
      if (args === undefined) continue;
      const nodeClass = this.object(
        `${name}-${poolObjectName(pool)}-class`,
        "karpenter.k8s.aws/v1",
        "EC2NodeClass",
        nodeClassOf(pool, args, cluster),
        [],
      );
      made.set(
        pool,
        this.object(
          `${name}-${poolObjectName(pool)}`,
          "karpenter.sh/v1",
          "NodePool",
          nodePoolOf(pool, args, vcpuLimits[pool] ?? 0, cluster),
          [nodeClass],
        ),
      );
    }
    this.pools = made;
    this.registerOutputs({});
  }

  private object(
    name: string,
    apiVersion: string,
    kind: string,
    {
      metadata,
      spec,
    }: { readonly metadata: { readonly name: string }; readonly spec: Readonly<Record<string, unknown>> },
    dependsOn: pulumi.Resource[],
  ): k8s.apiextensions.CustomResource {
    // Pulumi waits for a custom resource only with waitFor. Deletion in the foreground removes a pool's machines first.
    const annotations = {
      "pulumi.com/waitFor": "condition=Ready",
      "pulumi.com/deletionPropagationPolicy": "foreground",
    };
    return new k8s.apiextensions.CustomResource(
      name,
      { apiVersion, kind, metadata: { ...metadata, annotations }, spec },
      { parent: this, dependsOn, customTimeouts: TIMEOUTS },
    );
  }
}
