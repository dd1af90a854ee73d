/** The Kubernetes objects of a pool: its NodePool and its EC2NodeClass, as Karpenter's v1 schemas have them. Pure. */
import type * as pulumi from "@pulumi/pulumi";
import { architecturesOf } from "../../../platforms/eks/pools/architectures";
import { reservedCpus } from "../../../platforms/eks/offers/machines";
import type { PoolArgs, PoolName } from "../../../platforms/eks/pools/pools";
import { MACHINE_SET_KEY, poolObjectName, poolSelector, poolTaint } from "../../../platforms/eks/pools/pools";
import { userDataOf } from "./user-data";

/** A cluster as its machines know it. */
export interface PoolCluster {
  /** Value of the tag `karpenter.sh/discovery` of subnets and security groups. */
  readonly clusterName: string;
  /** Names of the zones that machines may be in. */
  readonly zones: readonly string[];
  /** Release of the AL2023 image, such as `20260714`. @default the one that this version was tested with */
  readonly machineImage: string;
  /** Name of the role that the machines have. */
  readonly nodeRole: pulumi.Input<string>;
  /** IDs of the machines' subnets. @default those that are tagged for the cluster */
  readonly subnetIds?: readonly pulumi.Input<string>[] | undefined;
  /** IDs of the machines' security groups. @default those that are tagged for the cluster */
  readonly securityGroupIds?: readonly pulumi.Input<string>[] | undefined;
  /** Tags of every machine, volume and interface that Karpenter makes. @default none */
  readonly tags: Readonly<Record<string, string>>;
}

/** Tag of the subnets and the security group that machines are put in. */
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
      // Karpenter replaces machines with an older image: `@latest` would empty the pool on release days.
      amiSelectorTerms: [{ alias: `al2023@v${cluster.machineImage}` }],
      role: cluster.nodeRole,
      subnetSelectorTerms: selected(cluster.subnetIds),
      securityGroupSelectorTerms: selected(cluster.securityGroupIds),
      // A hop limit of 1 keeps pods off the machine's own credentials.
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
      // So that Karpenter expects no more of a machine than its kubelet gives.
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
 * Karpenter replaces no machine because its pool or class has changed: another tag, tuning, volume or image would drain
 * servers with their data, or a load generator in a measurement. An empty machine leaves all the same, as no budget
 * names that reason.
 */
const KEEP_DRIFTED = { nodes: "0", reasons: ["Drifted"] };

/**
 * Machines leave only when they are empty: never expired, never consolidated while in use, never replaced for drift.
 * Those of clients leave soon after the last load generator.
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
            // A machine for each set that a pod names, with the set as its label.
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
