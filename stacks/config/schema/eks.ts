/** The section `platform` of a stack on EKS: every key, its unit, its default and its bounds. Loads no SDK of a cloud. */
import { z } from "zod";
import { planNetwork } from "../../../platforms/eks/network-plan";
import type { PoolArgs } from "../../../platforms/eks/pools";
import { POOL_DEFAULTS } from "../../../platforms/eks/pools";
import { NAT_STRATEGIES } from "../../../platforms/eks/plan";
import { STORAGE_CLASS_NAMES } from "../../../platforms/eks/storage-classes";
import { clientKeys, instanceType, podKeys, quantity, resources } from "./pods";

/** `us-west-2`. China and GovCloud are partitions of their own, with other ARNs. */
const region = z
  .string()
  .regex(
    /^(?!cn-|us-gov-)[a-z]{2,}(-[a-z]+)+-\d$/,
    "expected a region of AWS such as us-west-2; not of China or GovCloud",
  );

const zoneLetter = z.string().regex(/^[a-f]$/, "expected the letter of a zone");

/** IPv4, as AWS writes blocks. */
const block = z
  .string()
  .refine((text) => z.cidrv4().safeParse(text).success, "expected an IPv4 block such as 10.0.0.0/16");

const arn = (service: string, what: string): z.ZodString =>
  z
    .string()
    .regex(
      new RegExp(`^arn:aws:${service}:[a-z0-9-]*:\\d{12}:${what}`),
      `expected an ARN such as arn:aws:${service}:…`,
    );

/** Small letters, digits and hyphens; 38, because AWS allows 64 for roles that are named by it. */
const clusterName = z
  .string()
  .regex(/^[a-z]([a-z0-9-]{0,36}[a-z0-9])?$/, "expected small letters, digits and hyphens, at most 38, a letter first");

/** A pool with its own defaults. */
function pool(defaults: PoolArgs) {
  return z.strictObject({
    /** Several let Karpenter take the cheapest that fits; one makes measurements comparable. */
    instanceTypes: z
      .array(instanceType)
      .min(1)
      .default([...defaults.instanceTypes]),
    tuning: z
      .strictObject({
        /** CPUs that take the network card's interrupts: CPU 0, then from the last one down; 0 leaves them to the kernel. */
        interruptCpus: z.int().min(0).max(64).default(0),
        /** Whole CPUs of their own for pods that ask for whole ones. */
        staticCpus: z.boolean().default(false),
      })
      .prefault({}),
    /** GiB. */
    rootVolumeGiB: z.int().min(20).max(16_384).default(defaults.rootVolumeGiB),
    /** Most vCPUs in all. @default what the plan needs, and a quarter or a machine more */
    vcpuLimit: z.int().min(1).max(1_000_000).optional(),
  });
}

const ownNetwork = z.strictObject({
  /** Of the whole network; /16 at most. It is refused where the planned machines do not fit. */
  cidr: block
    .refine((cidr) => planNetwork(cidr, 1) !== undefined, "expected a block from /16 to /26")
    .default("10.0.0.0/16"),
  /** `one` gateway is cheaper, one `perZone` survives a zone. */
  nat: z.enum(NAT_STRATEGIES).default("one"),
  /** Whether connections are logged, for 7 days. */
  flowLogs: z.boolean().default(false),
});

const existingNetwork = z.strictObject({
  vpcId: z.string().regex(/^vpc-[0-9a-f]{8,17}$/, "expected the id of a network such as vpc-0123456789abcdef0"),
  /** At least one per zone; they need a way to the registries. */
  privateSubnetIds: z.array(z.string().regex(/^subnet-[0-9a-f]{8,17}$/, "expected the id of a subnet")).min(2),
});

const access = z.strictObject({
  /** Of a role or a user. */
  principalArn: arn("iam", "(role|user)/"),
  /** `view` may read all but secrets. */
  rights: z.enum(["admin", "view"]).default("view"),
});

export const eksPlatformSchema = z
  .strictObject({
    type: z.literal("eks"),
    region: region.default("us-west-2"),
    /** Of the cluster, and the beginning of the name of whatever belongs to it. @default the project's and the stack's name */
    clusterName: clusterName.optional(),
    /** Letters of the zones, in the order in which they are filled. */
    zones: z
      .array(zoneLetter)
      .min(2, "EKS takes subnets in 2 zones at least, and one zone cannot keep replicas apart from their primaries")
      .max(6)
      .default(["a", "b", "c"]),
    network: z.union([existingNetwork, ownNetwork]).prefault({}),
    cluster: z
      .strictObject({
        /** Blocks from which the API server is reached; none closes it to the outside. */
        publicAccessCidrs: z.array(block).default([]),
        /** Has to be said as well where a block is everyone's. */
        openToTheWorld: z.boolean().default(false),
        /** Who may use the cluster besides whoever makes it, by a name. */
        access: z
          .record(z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, "expected small letters, digits and hyphens"), access)
          .default({}),
        /** For secrets in etcd. @default a key of the stack's own */
        keyArn: arn("kms", "key/").optional(),
        /** As CloudWatch allows. */
        logRetentionInDays: z.literal([1, 3, 5, 7, 14, 30, 60, 90, 180, 365]).default(7),
        /** To be switched off before the stack can be destroyed. */
        deletionProtection: z.boolean().default(false),
      })
      .prefault({}),
    /** Machines that carry Karpenter, CoreDNS and the volume controller. */
    system: z
      .strictObject({
        instanceType: instanceType.default("m7g.large"),
        machines: z.int().min(2, "each of Karpenter's two replicas needs a machine").max(10).default(2),
      })
      .prefault({}),
    pools: z
      .strictObject({
        servers: pool(POOL_DEFAULTS.servers).prefault({}),
        /** Only where a deployment opts into it. */
        networkOptimized: pool(POOL_DEFAULTS.networkOptimized).optional(),
        clients: pool(POOL_DEFAULTS.clients).prefault({}),
      })
      .prefault({}),
    ...podKeys,
    /** S1's. A limit above what a machine has holds nothing back. */
    resources: resources.default({ requests: { cpu: "1", memory: "12Gi" }, limits: { cpu: "2", memory: "16Gi" } }),
    /** A volume for each server, which goes with the stack. */
    storage: z
      .strictObject({ className: z.enum(STORAGE_CLASS_NAMES).default("gp3"), size: quantity.default("50Gi") })
      .prefault({}),
    /** Who sends the load, each from a machine of the pool `clients` as far as there are. */
    clients: z
      .strictObject({
        ...clientKeys,
        /** Of each (S1's); there is no limit, for one would slow the load generator down. */
        requests: z.strictObject({ cpu: quantity, memory: quantity }).default({ cpu: "1", memory: "1Gi" }),
        /** Letter of the zone they are in, such as that of all servers. @default any */
        zone: zoneLetter.optional(),
      })
      .prefault({}),
    /** Of everything that is made. */
    tags: z.record(z.string().min(1).max(127), z.string().max(255)).default({}),
  })
  .superRefine(({ cluster, zones, network, clients }, context) => {
    if (clients.zone !== undefined && !zones.includes(clients.zone))
      context.addIssue({
        code: "custom",
        path: ["clients", "zone"],
        message: `${clients.zone} is none of the platform's zones; there are ${zones.join(", ")}`,
      });
    const open = cluster.publicAccessCidrs.findIndex((cidr) => cidr.endsWith("/0"));
    if (open >= 0 && !cluster.openToTheWorld)
      context.addIssue({
        code: "custom",
        path: ["cluster", "publicAccessCidrs", open],
        message: `${cluster.publicAccessCidrs[open] ?? ""} lets everyone reach the API server; name the blocks that need it, or say openToTheWorld: true as well`,
      });
    if (new Set(zones).size < zones.length)
      context.addIssue({ code: "custom", path: ["zones"], message: "a zone is named twice" });
    if ("vpcId" in network && network.privateSubnetIds.length < zones.length)
      context.addIssue({
        code: "custom",
        path: ["network", "privateSubnetIds"],
        message: `${network.privateSubnetIds.length} subnets for ${zones.length} zones; at least one for each`,
      });
  });

export type EksPlatformConfig = z.infer<typeof eksPlatformSchema>;

/** `us-west-2a`, … of `us-west-2` and `a`, …. */
export function zoneNames({ region: name, zones }: Pick<EksPlatformConfig, "region" | "zones">): string[] {
  return zones.map((letter) => name + letter);
}
