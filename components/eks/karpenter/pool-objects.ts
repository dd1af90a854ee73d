/** NodePool, and EC2NodeClass with user data, in Karpenter's v1 schemas. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type * as pulumi from "@pulumi/pulumi";
import { stringify } from "yaml";
import {
  type PoolArgs,
  type PoolName,
  architecturesOf,
  MACHINE_SET_KEY,
  poolObjectName,
  poolSelector,
  poolTaint,
} from "../../../platforms/eks/pools/pools";
import { type Tuning, reservedCpus, FILE_DESCRIPTORS } from "../../../platforms/eks/pools/tuning";

const MIME_BOUNDARY = "valkey-measured";
const INTERRUPTS_SCRIPT = "/usr/local/sbin/valkey-interrupts";
const INTERRUPTS_UNIT = "valkey-interrupts.service";

const readUserData = (file: string): string => readFileSync(join(__dirname, "user-data", file), "utf8");

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

interface NodeClass {
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

interface NodePool {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Without this budget, a changed tag, tuning, volume or image would drain servers with their data (drift), or a load
 * generator during a measurement. Empty machines are still removed.
 */
const KEEP_DRIFTED = { nodes: "0", reasons: ["Drifted"] };

/**
 * Machines are removed only when empty: no expiry, no consolidation while in use, no replacement for drift. Those for
 * clients a minute after the last load generator has ended.
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

/**
 * cloud-init runs the script before the kubelet starts, and Karpenter merges the NodeConfig with its own. Huge pages
 * are off: every byte written after the fork for a snapshot would copy 2 MiB. Memory is overcommitted, because the fork
 * can fail otherwise. somaxconn is not set: each pod has its own, from the kernel's default of 4,096.
 */
export function userDataOf(tuning: Tuning): string {
  const interrupts = tuning.interruptCpus > 0 ? interruptScript(tuning.interruptCpus) : "";
  const script = `${readUserData("kernel-settings.sh")}${interrupts}`;
  const parts = [
    mimePart('text/x-shellscript; charset="us-ascii"', script),
    mimePart("application/node.eks.aws", stringify(nodeConfigOf(tuning))),
  ];
  const head = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${MIME_BOUNDARY}"\n\n`;
  return `${head}${parts.join("")}--${MIME_BOUNDARY}--\n`;
}

function mimePart(type: string, body: string): string {
  return `--${MIME_BOUNDARY}\nContent-Type: ${type}\n\n${body}\n`;
}

/** By a systemd unit, which pins the interrupts of the network card to CPUs at every start of the machine. */
function interruptScript(cpus: number): string {
  return [
    fileCommand(INTERRUPTS_SCRIPT, readUserData("interrupts.sh")),
    `chmod 755 ${INTERRUPTS_SCRIPT}\n`,
    fileCommand(`/etc/systemd/system/${INTERRUPTS_UNIT}`, readUserData(INTERRUPTS_UNIT).replace("CPUS", String(cpus))),
    `systemctl enable --now ${INTERRUPTS_UNIT}\n`,
  ].join("");
}

function fileCommand(path: string, text: string): string {
  return `cat >${path} <<'END'\n${text}END\n`;
}

/** Karpenter adds taints, labels and the cluster. */
function nodeConfigOf(tuning: Tuning): object {
  const limit = { type: "RLIMIT_NOFILE", soft: FILE_DESCRIPTORS, hard: FILE_DESCRIPTORS };
  const spec = { containerd: { baseRuntimeSpec: { process: { rlimits: [limit] } } } };
  const config = {
    cpuManagerPolicy: "static",
    reservedSystemCPUs: "0",
    // The image's configuration names a cgroup in both options. With these names a kubelet with reserved CPUs does not
    // start, so the options are empty.
    kubeReservedCgroup: "",
    systemReservedCgroup: "",
  };
  return {
    apiVersion: "node.eks.aws/v1alpha1",
    kind: "NodeConfig",
    spec: reservedCpus(tuning) > 0 ? { ...spec, kubelet: { config } } : spec,
  };
}
