/** The Kubernetes objects of a pool: its NodePool and its EC2NodeClass, in Karpenter's v1 schemas. Pure. */
import type * as pulumi from "@pulumi/pulumi";
import { architecturesOf } from "../../../platforms/eks/pools/architectures";
import { reservedCpus } from "../../../platforms/eks/pools/tuning";
import type { PoolArgs, PoolName } from "../../../platforms/eks/pools/pools";
import { MACHINE_SET_KEY, poolObjectName, poolSelector, poolTaint } from "../../../platforms/eks/pools/pools";
import { userDataOf } from "./user-data";

/** Facts about a cluster that the Kubernetes objects of its pools contain. */
export interface PoolCluster {
  /** Value of the tag `karpenter.sh/discovery` of subnets and security groups. */
  readonly clusterName: string;
  /** Names of the zones in which machines may start. */
  readonly zones: readonly string[];
  /** Release of the AL2023 image, such as `20260714`. @default the release that this package was tested with */
  readonly machineImage: string;
  /** Name of the machines' IAM role. */
  readonly nodeRole: pulumi.Input<string>;
  /** IDs of the machines' subnets. @default the subnets that are tagged for the cluster */
  readonly subnetIds?: readonly pulumi.Input<string>[] | undefined;
  /** IDs of the machines' security groups. @default the security groups that are tagged for the cluster */
  readonly securityGroupIds?: readonly pulumi.Input<string>[] | undefined;
  /** Tags of every machine, volume and network interface that Karpenter creates. @default none */
  readonly tags: Readonly<Record<string, string>>;
}

/** Key of the tag by which Karpenter finds the subnets and the security group for machines. */
export const DISCOVERY_TAG = "karpenter.sh/discovery";

export interface NodeClass {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

export function nodeClassOf(
  pool: PoolName,
  { tuning, rootVolumeGiB }: Pick<PoolArgs, "tuning" | "rootVolumeGiB">,
  cluster: PoolCluster,
): NodeClass {
  const reserved = reservedCpus(tuning);
  const selected = (ids: PoolCluster["subnetIds"]): object[] =>
    ids === undefined ? [{ tags: { [DISCOVERY_TAG]: cluster.clusterName } }] : ids.map((id) => ({ id }));
  return {
    metadata: { name: poolObjectName(pool) },
    spec: {
      // Pinned, because Karpenter replaces machines whose image is older than the alias: `@latest` would replace every
      // machine of the pool on the day of a release.
      amiSelectorTerms: [{ alias: `al2023@v${cluster.machineImage}` }],
      role: cluster.nodeRole,
      subnetSelectorTerms: selected(cluster.subnetIds),
      securityGroupSelectorTerms: selected(cluster.securityGroupIds),
      // With a hop limit of 1, pods cannot read the machine's own credentials.
      metadataOptions: {
        httpEndpoint: "enabled",
        httpTokens: "required",
        httpPutResponseHopLimit: 1,
        httpProtocolIPv6: "disabled",
      },
      blockDeviceMappings: [
        {
          deviceName: "/dev/xvda",
          rootVolume: true,
          ebs: { volumeType: "gp3", volumeSize: `${rootVolumeGiB}Gi`, encrypted: true, deleteOnTermination: true },
        },
      ],
      detailedMonitoring: false,
      // Karpenter must know the reserved CPUs. It then plans with the CPUs that the kubelet offers to pods.
      ...(reserved > 0 && { kubelet: { systemReserved: { cpu: String(reserved) } } }),
      userData: userDataOf(tuning),
      tags: { ...cluster.tags },
    },
  };
}

export interface NodePool {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Disruption budget that keeps Karpenter from replacing a machine because its pool or class has changed (drift).
 * Without this budget, a changed tag, tuning, volume or image would drain servers with their data, or a load generator
 * during a measurement. Empty machines are still removed, because this budget applies only to the reason `Drifted`.
 */
const KEEP_DRIFTED = { nodes: "0", reasons: ["Drifted"] };

/**
 * The NodePool of a pool. Karpenter removes a machine only when it is empty: machines do not expire, and they are
 * neither consolidated while in use nor replaced for drift. Machines for clients are removed a minute after the last
 * load generator has ended.
 */
export function nodePoolOf(
  pool: PoolName,
  { instanceTypes, capacity = "on-demand", vcpuLimit = 0 }: Pick<PoolArgs, "instanceTypes" | "capacity" | "vcpuLimit">,
  { zones }: Pick<PoolCluster, "zones">,
): NodePool {
  const only = (key: string, values: readonly string[]): object => ({ key, operator: "In", values: [...values] });
  return {
    metadata: { name: poolObjectName(pool) },
    spec: {
      template: {
        metadata: { labels: { ...poolSelector(pool) } },
        spec: {
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: poolObjectName(pool) },
          taints: [poolTaint(pool)],
          requirements: [
            only("karpenter.sh/capacity-type", [capacity]),
            only("kubernetes.io/arch", architecturesOf(instanceTypes)),
            only("kubernetes.io/os", ["linux"]),
            only("node.kubernetes.io/instance-type", instanceTypes),
            only("topology.kubernetes.io/zone", zones),
            // A pod's node selector names a set of machines. Karpenter starts machines for this set and labels them
            // with its name.
            { key: MACHINE_SET_KEY, operator: "Exists" },
          ],
          expireAfter: "Never",
        },
      },
      disruption: {
        consolidationPolicy: "WhenEmpty",
        consolidateAfter: pool === "clients" ? "1m" : "5m",
        budgets: [KEEP_DRIFTED],
      },
      limits: { cpu: String(vcpuLimit) },
    },
  };
}
