/**
 * A complete EKS platform: network, cluster, storage, Karpenter and its pools, created in this order and deleted in
 * reverse.
 */
import type * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { hasViewers, ViewerRole } from "./access";
import type { EksClusterArgs } from "./cluster";
import { EksCluster, requireClosedAccess } from "./cluster";
import { ImageCache } from "./image-cache";
import { Karpenter } from "./karpenter/karpenter";
import { KarpenterIdentity } from "./karpenter/karpenter-identity";
import { MachinePools } from "./karpenter/machine-pools";
import type { NetworkArgs } from "./network";
import { Network } from "./network";
import { isSpot } from "../../platforms/eks/capacity";
import type { Pools } from "../../platforms/eks/machine-plan";
import type { EksPlan } from "../../platforms/eks/plan";
import type { PoolName } from "../../platforms/eks/pools";
import { POOLS } from "../../platforms/eks/pools";
import { cachePrefix } from "../../platforms/eks/scale/image-pulls";
import { StorageClasses } from "./storage-classes";
import { EKS_VERSIONS } from "./versions";

/**
 * @example
 * const addresses = { existing: false, cidr: "10.0.0.0/16", nat: "one" };
 * const plan = planEks({ region: "us-west-2", zones, network: addresses, … });
 * const network = { kind: "own", plan: plan.network, nat: "one", flowLogs: false };
 * const platform = new EksPlatform("valkey", { clusterName: "valkey", region: "us-west-2", zones, network, plan, … });
 * new ClusterServers("orders", { … }, { provider: platform.provider, dependsOn: platform.ready });
 */
export interface EksPlatformArgs
  extends
    Omit<NetworkArgs, "clusterName">,
    Pick<
      EksClusterArgs,
      | "clusterName"
      | "publicAccess"
      | "access"
      | "keyArn"
      | "logRetentionInDays"
      | "takesOverLogGroup"
      | "deletionProtection"
    > {
  readonly pools: Pools;
  /** The plan: the vCPUs that each pool needs, the system machines, the control plane's tier, images for the cache. */
  readonly plan: Pick<EksPlan, "machines" | "system" | "controlPlane" | "images">;
  /** Tags of every resource, with machines and volumes. @default none */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** A pool may grow by a quarter, so that a machine can be replaced before it is removed. */
const SPARE = 1.25;

/** Limit of each pool's vCPUs: as configured, or the plan's vCPUs with a reserve. Pure. */
export function vcpuLimits(pools: Pools, { machines }: Pick<EksPlan, "machines">): Partial<Record<PoolName, number>> {
  const planned = (pool: PoolName): number =>
    machines.filter((group) => group.pool === pool).reduce((sum, { count, vcpus }) => sum + count * vcpus, 0);
  // At least one machine more: a quarter of two machines is none.
  const spare = (pool: PoolName): number =>
    Math.max(
      planned(pool) * SPARE,
      planned(pool) + Math.max(0, ...machines.filter((group) => group.pool === pool).map(({ vcpus }) => vcpus)),
    );
  return Object.fromEntries(
    POOLS.flatMap((pool) =>
      pools[pool] === undefined ? [] : [[pool, pools[pool].vcpuLimit ?? Math.ceil(spare(pool))]],
    ),
  );
}

export class EksPlatform extends pulumi.ComponentResource {
  /** Kubernetes provider of the cluster. */
  readonly provider: k8s.Provider;
  /** A kubeconfig that gets a token from the AWS CLI. It holds no secret. */
  readonly kubeconfig: pulumi.Output<string>;
  readonly network: Network;
  readonly cluster: EksCluster;
  readonly storage: StorageClasses;
  readonly pools: MachinePools;
  /** Workloads depend on these: the controllers that delete pods and volumes outlive the workloads. */
  readonly ready: pulumi.Resource[];

  /** @throws BadInput as `EksCluster` does, before anything is created */
  constructor(name: string, args: EksPlatformArgs, opts?: pulumi.ComponentResourceOptions) {
    requireClosedAccess(args.publicAccess);
    super("valkey:eks:EksPlatform", name, {}, opts);
    const { clusterName, region, zones, pools, tags = {} } = args;

    this.network = new Network(name, args, { parent: this });
    this.cluster = new EksCluster(
      name,
      {
        ...args,
        system: args.plan.system,
        controlPlaneTier: args.plan.controlPlane.tier,
        vpcId: this.network.vpcId,
        subnetIds: this.network.privateSubnetIds,
        versions: EKS_VERSIONS,
        tags,
      },
      { parent: this, dependsOn: [this.network] },
    );
    this.provider = this.cluster.provider;
    this.kubeconfig = this.cluster.kubeconfig;

    const identity = new KarpenterIdentity(
      name,
      { clusterName, spot: POOLS.some((pool) => isSpot(pools, pool)) },
      { parent: this, dependsOn: [this.cluster.controlPlane] },
    );
    const inside = { parent: this, providers: { kubernetes: this.provider } };
    if (hasViewers(args.access)) new ViewerRole(name, { ...inside, dependsOn: this.cluster.ready });
    this.storage = new StorageClasses(name, { tags }, { ...inside, dependsOn: this.cluster.ready });
    const karpenter = new Karpenter(
      name,
      { clusterName, region, identity, versions: EKS_VERSIONS, size: args.plan.system.karpenter },
      { ...inside, dependsOn: this.cluster.ready },
    );
    this.pools = new MachinePools(
      name,
      {
        pools,
        vcpuLimits: vcpuLimits(pools, args.plan),
        cluster: {
          clusterName,
          zones,
          machineImage: EKS_VERSIONS.machineImage,
          nodeRole: identity.nodeRoleName,
          subnetIds: this.network.selectedSubnetIds,
          tags,
        },
      },
      { ...inside, dependsOn: [karpenter] },
    );
    const { cache, hubImages } = args.plan.images;
    this.ready = [this.storage, this.pools];
    if (cache !== null && hubImages.length > 0) {
      const { credentialsSecret } = cache;
      const prefix = cachePrefix(clusterName);
      const { nodeRoleName: nodeRole } = identity;
      const options = { parent: this, dependsOn: [identity] };
      this.ready.push(new ImageCache(name, { credentialsSecret, prefix, images: hubImages, nodeRole }, options));
    }
    this.registerOutputs({ access: this.kubeconfig });
  }
}
