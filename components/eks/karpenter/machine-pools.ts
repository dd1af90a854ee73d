/** The pools of a cluster: what Karpenter may start, for whom. */
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { Pools } from "../../../platforms/eks/machine-plan";
import type { PoolName } from "../../../platforms/eks/pools";
import { POOLS, poolObjectName } from "../../../platforms/eks/pools";
import type { PoolCluster } from "./pool-objects";
import { nodeClassOf, nodePoolOf } from "./pool-objects";

export interface MachinePoolsArgs {
  readonly pools: Pools;
  /** Most vCPUs of each pool in all. */
  readonly vcpuLimits: Readonly<Partial<Record<PoolName, number>>>;
  readonly cluster: PoolCluster;
}

/** Time that machines have to come or to go. A machine that waits for its volumes to be let go takes minutes. */
const TIMEOUTS = { create: "10m", delete: "30m" };

/**
 * A NodePool and an EC2NodeClass per pool. Deleting waits: a NodePool goes when its machines are gone, its class after
 * that, and only then may the controller go. What runs on the machines is to depend on this.
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
    // Custom resources are not waited for otherwise; in the foreground, so that a pool's machines go before it does.
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
