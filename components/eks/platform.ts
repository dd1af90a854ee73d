import * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { BadInput } from "../../lib/errors";
import type { BackupArgs, RestoreFromArgs } from "../kubernetes/backup-arguments";
import { hasViewers, ViewerRole } from "./access";
import { BackupAccess, RestoreAccess } from "./backup-access";
import { BackupBucket } from "./backup-bucket";
import { EksCluster } from "./cluster";
import { ImageCache } from "./image-cache";
import { Karpenter, KarpenterIdentity } from "./karpenter/karpenter";
import { KarpenterPools } from "./karpenter/karpenter-pools";
import { type NetworkArgs, Network } from "./network";
import { type EksPlatformArgs, completePlatform } from "./platform-args";
import { type BackupBucketPlan, ownKeyOf } from "../../platforms/eks/backup-bucket";
import type { EksPlan } from "../../platforms/eks/plan";
import { POOLS, isSpot } from "../../platforms/eks/pools/pools";
import { cachePrefix } from "../../platforms/eks/scale/image-pulls";
import { EKS_VERSIONS } from "./aws/versions";
import type { StorageClassName } from "../../platforms/eks/offers/storage-classes";
import {
  DEFAULT_STORAGE_CLASS,
  STORAGE_CLASS_NAMES,
  STORAGE_CLASSES,
} from "../../platforms/eks/offers/storage-classes";

/**
 * A platform on EKS: a network, a cluster, storage classes, and Karpenter with its pools. With `backups`, it also has a
 * bucket for the backups of its deployments. In TypeScript, `backupFor` gives one deployment access to it, and
 * `restoreFor` lets a new deployment read an archive; in other languages, the components `BackupAccess` and
 * `RestoreAccess` do. Resources that run on the cluster must have `ready` in `dependsOn`.
 *
 * @example
 * const platform = new EksPlatform("production", {
 *   region: "us-west-2",
 *   zones: ["us-west-2a", "us-west-2b", "us-west-2c"],
 *   pools: { servers: { instanceTypes: ["r8g.large"], vcpuLimit: 24 } },
 *   publicAccess: { cidrs: ["198.51.100.0/24"] },
 * });
 * new ValkeyCluster(
 *   "orders",
 *   { shape: { primaries: 3, replicasPerPrimary: 1 }, zones: platform.plan.zones, kubeconfig: platform.kubeconfig },
 *   { provider: platform.provider, dependsOn: platform.ready },
 * );
 */
export class EksPlatform extends pulumi.ComponentResource {
  /** Plan with machines, addresses, quotas and cost, as far as they are known before anything is created. */
  readonly plan: EksPlan;
  /** Kubernetes provider of the cluster. */
  readonly provider: k8s.Provider;
  /** A kubeconfig that gets a token from the AWS CLI. It contains no secret. */
  readonly kubeconfig: pulumi.Output<string>;
  readonly network: Network;
  readonly cluster: EksCluster;
  readonly storage: StorageClasses;
  readonly pools: KarpenterPools;
  /**
   * Resources that workloads must depend on. This order keeps the controllers that delete pods and volumes running
   * while the workloads are destroyed.
   */
  readonly ready: pulumi.Resource[];
  /** Name of the bucket for backups; undefined without `backups`. @default none */
  readonly backupBucket: pulumi.Output<string | undefined>;
  readonly #name: string;
  readonly #backups: { readonly plan: BackupBucketPlan; readonly bucket: pulumi.Output<string> } | undefined;

  /** @throws BadInput with every reason why the platform cannot be created, before any resource is declared */
  constructor(name: string, args: EksPlatformArgs, options?: pulumi.ComponentResourceOptions) {
    const { plan, pools, publicAccess } = completePlatform(name, args);
    super("valkey:index:EksPlatform", name, {}, options);
    const { clusterName = name, region, zones, access = {}, logRetentionInDays = 7, tags = {} } = args;
    const { keyArn, takesOverLogGroup = false, deletionProtection = false } = args;
    this.plan = plan;
    this.#name = name;
    this.network = new Network(name, { clusterName, region, zones, network: networkOf(args, plan) }, { parent: this });
    this.cluster = new EksCluster(
      name,
      {
        clusterName,
        region,
        publicAccess,
        access,
        keyArn,
        logRetentionInDays,
        takesOverLogGroup,
        deletionProtection,
        system: plan.system,
        controlPlaneTier: plan.controlPlane.tier,
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
    if (hasViewers(access)) new ViewerRole(name, { ...inside, dependsOn: this.cluster.ready });
    this.storage = new StorageClasses(name, { tags }, { ...inside, dependsOn: this.cluster.ready });
    const karpenter = new Karpenter(
      name,
      { clusterName, region, identity, versions: EKS_VERSIONS, size: plan.system.karpenter },
      { ...inside, dependsOn: this.cluster.ready },
    );
    const { nodeRoleName: nodeRole } = identity;
    this.pools = new KarpenterPools(
      name,
      { pools, clusterName, zones, nodeRole, subnetIds: this.network.selectedSubnetIds, tags },
      { ...inside, dependsOn: [karpenter] },
    );
    const { cache, hubImages } = plan.images;
    this.ready = [this.storage, this.pools];
    if (cache !== null && hubImages.length > 0) {
      const { credentialsSecret } = cache;
      const prefix = cachePrefix(clusterName);
      const ordered = { parent: this, dependsOn: [identity] };
      this.ready.push(new ImageCache(name, { credentialsSecret, prefix, images: hubImages, nodeRole }, ordered));
    }
    this.#backups = plan.backups === null ? undefined : { plan: plan.backups, bucket: this.#bucketOf(plan.backups) };
    this.backupBucket = pulumi.output(this.#backups?.bucket);
    this.registerOutputs({ access: this.kubeconfig });
  }

  /**
   * Gives a deployment on the platform access to its part of the bucket for backups. The platform needs `backups`.
   * @param deployment name of the deployment
   * @param namespace namespace of the deployment. @default "default", as for a deployment
   * @param prefix beginning of the names of all its objects. @default "NAMESPACE/DEPLOYMENT"
   * @returns the bucket, its region and the prefix, for the argument `backup` of the deployment
   * @throws BadInput without `backups`
   */
  backupFor(
    deployment: string,
    namespace = "default",
    prefix = `${namespace}/${deployment}`,
  ): Pick<BackupArgs, "bucket" | "region" | "prefix"> {
    if (this.#backups === undefined)
      throw BadInput.of(
        `EksPlatform ${this.#name}`,
        "no-bucket",
        `it is missing, but the backup of ${deployment} needs a bucket; set backups: {}`,
        "backups",
      );
    const { plan, bucket } = this.#backups;
    const access = new BackupAccess(
      `${this.#name}-${namespace}-${deployment}`,
      {
        ...{ clusterName: this.cluster.clusterName, bucket, deployment, namespace, prefix },
        keyArn: ownKeyOf(plan.encryption),
      },
      { parent: this, dependsOn: [this.cluster.controlPlane] },
    );
    return { bucket: access.bucket, region: this.plan.region, prefix };
  }

  /**
   * Lets the pod that fills a new deployment read an archive.
   * @param deployment name of the new deployment
   * @param archive prefix of the archive's objects; and the bucket, which must be in the account of the platform. @default
   *   the bucket of the platform, which needs `backups`
   * @param namespace namespace of the new deployment. @default "default", as for a deployment
   * @returns the bucket, its region if it is the bucket of the platform, and the prefix, for the argument `restoreFrom`
   * @throws BadInput without a bucket
   */
  restoreFor(
    deployment: string,
    { prefix, bucket = this.#backups?.bucket }: { readonly prefix: string; readonly bucket?: pulumi.Input<string> },
    namespace = "default",
  ): Pick<RestoreFromArgs, "bucket" | "region" | "prefix"> {
    if (bucket === undefined)
      throw BadInput.of(
        `EksPlatform ${this.#name}`,
        "no-bucket",
        `it is missing, but the restore of ${deployment} needs a bucket; set backups: {}, or name a bucket`,
        "backups",
      );
    const access = new RestoreAccess(
      `${this.#name}-${namespace}-${deployment}`,
      { clusterName: this.cluster.clusterName, bucket, deployment, namespace, prefix },
      { parent: this, dependsOn: [this.cluster.controlPlane] },
    );
    const region = bucket === this.#backups?.bucket ? this.plan.region : undefined;
    return { bucket: access.bucket, ...(region === undefined ? {} : { region }), prefix };
  }

  #bucketOf({ name, existing, ...settings }: BackupBucketPlan): pulumi.Output<string> {
    if (existing && name !== null) return pulumi.output(name);
    const { clusterName } = this.cluster;
    return new BackupBucket(this.#name, { clusterName, name, ...settings }, { parent: this }).bucket;
  }
}

function networkOf({ network, existingNetwork }: EksPlatformArgs, plan: EksPlan): NetworkArgs["network"] {
  if (existingNetwork !== undefined) return existingNetwork;
  if (plan.network === undefined) throw new Error("a network of the platform's own has been planned without addresses");
  return { plan: plan.network, nat: network?.nat ?? "one", flowLogs: network?.flowLogs ?? false };
}

/**
 * Storage classes of encrypted gp3 volumes, one for each configured speed. A volume is created in the zone of its pod's
 * machine, once the pod has a machine, and is deleted with its claim. Pass the CSI driver as `dependsOn`, because it
 * must outlive the volumes.
 */
class StorageClasses extends pulumi.ComponentResource {
  /** Classes by name. Resources with claims depend on the class. */
  readonly classes: Readonly<Record<StorageClassName, k8s.storage.v1.StorageClass>>;

  constructor(
    name: string,
    { tags }: { readonly tags: Readonly<Record<string, string>> },
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:Storage", name, {}, opts);
    const made = STORAGE_CLASS_NAMES.map(
      (storageClass) => [storageClass, this.storageClass(name, storageClass, tags)] as const,
    );
    this.classes = Object.fromEntries(made) as Record<StorageClassName, k8s.storage.v1.StorageClass>;
    this.registerOutputs({});
  }

  private storageClass(
    name: string,
    storageClass: StorageClassName,
    tags: Readonly<Record<string, string>>,
  ): k8s.storage.v1.StorageClass {
    const { iops, throughput } = STORAGE_CLASSES[storageClass];
    const tagged = Object.entries(tags).map(
      ([key, value], index) => [`tagSpecification_${index + 1}`, `${key}=${value}`] as const,
    );
    return new k8s.storage.v1.StorageClass(
      `${name}-${storageClass}`,
      {
        metadata: {
          name: storageClass,
          annotations:
            storageClass === DEFAULT_STORAGE_CLASS ? { "storageclass.kubernetes.io/is-default-class": "true" } : {},
        },
        provisioner: "ebs.csi.aws.com",
        volumeBindingMode: "WaitForFirstConsumer",
        reclaimPolicy: "Delete",
        allowVolumeExpansion: true,
        parameters: {
          type: "gp3",
          encrypted: "true",
          iops: String(iops),
          throughput: String(throughput),
          "csi.storage.k8s.io/fstype": "ext4",
          ...Object.fromEntries(tagged),
        },
      },
      { parent: this },
    );
  }
}
