/** The stack creates network, cluster, storage and machines. This file does not load the SDKs of AWS. */
import { BACKUP_BUCKET_DEFAULTS, BUCKET_FATES, KEEP_DELETED_DAYS } from "../../../platforms/eks/backup-bucket";
import { publicAccessProblem } from "../../../platforms/eks/public-access";
import { z } from "zod";
import { planNetwork } from "../../../platforms/eks/network-plan";
import { NAT_STRATEGIES } from "../../../platforms/eks/plan";
import { CONTROL_PLANE_TIERS } from "../../../platforms/eks/offers/control-plane";
import { type PoolArgs, POOL_DEFAULTS, CAPACITIES, SERVERS_ON_DEMAND } from "../../../platforms/eks/pools/pools";
import { STORAGE_CLASS_NAMES } from "../../../platforms/eks/offers/storage-classes";
import { wholeNumber } from "../../../lib/schema/fields";
import { resourceQuantities, clientFields, instanceType, podFields, quantity, resources } from "./pod-options";

/**
 * AWS region, such as `us-west-2`. Regions of China and GovCloud are refused, because their ARNs have a different form.
 */
const region = z
  .string()
  .regex(
    /^(?!cn-|us-gov-)[a-z]{2,}(-[a-z]+)+-\d$/,
    "expected a region of AWS such as us-west-2; not of China or GovCloud",
  );

const zoneLetter = z.string().regex(/^[a-f]$/, "expected the letter of a zone");

const block = z.cidrv4({ error: "expected an IPv4 block such as 10.0.0.0/16", abort: true });

const arn = (service: string, resource: string): z.ZodString =>
  z
    .string()
    .regex(
      new RegExp(`^arn:aws:${service}:[a-z0-9-]*:\\d{12}:${resource}`),
      `expected an ARN such as arn:aws:${service}:…`,
    );

/**
 * Name of the cluster, at most 38 characters. The names of roles begin with this name, and AWS allows 64 characters for
 * the name of a role.
 */
const clusterName = z
  .string()
  .regex(
    /^[a-z]([a-z0-9-]{0,36}[a-z0-9])?$/,
    "expected lower-case letters, digits and hyphens, at most 38 characters, a letter first",
  );

const tuningSchema = z.strictObject({
  /**
   * Number of CPUs that handle the interrupts of the network card: CPU 0 first, and then the last CPUs. With 0, the
   * kernel chooses the CPUs.
   */
  interruptCpus: wholeNumber(0, 64).default(0),
  /** Whether a pod gets exclusive CPUs if it requests whole CPUs and its limits equal its requests. */
  staticCpus: z.boolean().default(false),
});

const serversCapacity = z
  .literal("on-demand", { error: SERVERS_ON_DEMAND })
  .default("on-demand")
  .meta({ description: "Purchase option of the machines. Servers never run on spot machines." });

const clientsCapacity = z
  .enum(CAPACITIES)
  .default("on-demand")
  .meta({
    description:
      "Purchase option of the machines. `spot` costs less, but AWS may reclaim spot machines. An interrupted measurement is " +
      "repeated once. If the repeat is interrupted too, the measurement fails.",
  });

function pool<C extends z.ZodType>(defaults: PoolArgs, capacity: C) {
  return z.strictObject({
    /**
     * Machine types of one architecture: Graviton (r7g, …) or x86 (r7i, r7a, …). Karpenter takes the cheapest type that
     * is large enough. Name only one type to make measurements comparable.
     */
    instanceTypes: z
      .array(instanceType)
      .min(1)
      .default([...defaults.instanceTypes]),
    capacity,
    /** CPU settings of the machines. */
    tuning: tuningSchema.prefault({}),
    /** Size of each machine's root volume. @unit GiB */
    rootVolumeGiB: wholeNumber(20, 16_384).default(defaults.rootVolumeGiB),
    /**
     * Highest number of vCPUs of the pool.
     * @default the planned vCPUs plus a quarter, or plus one machine if that is more
     */
    vcpuLimit: wholeNumber(1, 1_000_000).optional(),
  });
}

const ownNetwork = z
  .strictObject({
    /** `own`: the stack creates the network. `existing`: the network exists already. @default own */
    kind: z.literal("own").optional(),
    /** Address block of the whole network, from /16 to /26. It must be large enough for the planned machines. */
    cidr: block
      .refine((cidr) => planNetwork(cidr, 1) !== undefined, "expected a block from /16 to /26")
      .default("10.0.0.0/16"),
    /** Number of NAT gateways. `one` is cheaper. With `perZone`, the other zones stay connected when a zone fails. */
    nat: z.enum(NAT_STRATEGIES).default("one"),
    /** Whether connections are logged. Logs are kept for 7 days. */
    flowLogs: z.boolean().default(false),
  })
  .meta({ title: "own", description: "A network that the stack creates." });

const existingNetwork = z
  .strictObject({
    /** `own`: the stack creates the network. `existing`: the network exists already. */
    kind: z.literal("existing"),
    /** ID of the network. */
    vpcId: z.string().regex(/^vpc-[0-9a-f]{8,17}$/, "expected the ID of a network such as vpc-0123456789abcdef0"),
    /** IDs of at least one subnet per zone. The subnets need a route to the image registries. */
    privateSubnetIds: z.array(z.string().regex(/^subnet-[0-9a-f]{8,17}$/, "expected the ID of a subnet")).min(2),
  })
  .meta({ title: "existing", description: "A network that exists already." });

const access = z.strictObject({
  /** ARN of a role or a user. */
  principalArn: arn("iam", "(role|user)/"),
  /** Rights on the cluster. `view` reads workloads, logs, machines, volumes, pools and roles, but no secrets. */
  rights: z.enum(["admin", "view"]).default("view"),
});

const accessName = z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, "expected lower-case letters, digits and hyphens");

export const clusterSchema = z.strictObject({
  /** Address blocks that may reach the API server from outside the network. An empty list allows none. */
  publicAccessCidrs: z.array(block).default([]),
  /** Whether `publicAccessCidrs` may contain 0.0.0.0/0. */
  openToTheWorld: z.boolean().default(false),
  /** IAM roles and users that may use the cluster in addition to its creator, by a name of your choice. */
  access: z.record(accessName, access).default({}),
  /** KMS key for secrets in etcd. @default a key that the stack creates */
  keyArn: arn("kms", "key/").optional(),
  /** Retention of the control plane's logs. @unit days */
  logRetentionInDays: z.literal([1, 3, 5, 7, 14, 30, 60, 90, 180, 365]).default(7),
  /**
   * Tier of the control plane. AWS scales `standard` by itself. A provisioned tier has a fixed capacity and costs more.
   * @default the smallest tier that is enough for the planned machines and pods
   */
  controlPlaneTier: z.enum(CONTROL_PLANE_TIERS).optional(),
  /** Whether EKS refuses to delete the cluster. Set it to false before `pulumi destroy`. */
  deletionProtection: z.boolean().default(false),
});

const systemSchema = z.strictObject({
  /**
   * Machine type. It must be large enough for Karpenter and CoreDNS, which need more resources if more machines are
   * planned.
   * @default the smallest m7g that is large enough
   */
  instanceType: instanceType.optional(),
  /** Number of machines. */
  machines: z.int().min(2, "Karpenter has two replicas, and each needs a machine").max(10).default(2),
});

const imageCacheSchema = z.strictObject({
  /**
   * Name of the secret in Secrets Manager, in the platform's region, with `username` and `accessToken` of an account at
   * Docker Hub.
   */
  credentialsSecret: z
    .string()
    .regex(
      /^ecr-pullthroughcache\/[a-zA-Z0-9/_+=.@-]{1,490}$/,
      "expected a name such as ecr-pullthroughcache/docker-hub: ECR reads only secrets with this prefix",
    )
    .default("ecr-pullthroughcache/docker-hub"),
});

const backupsSchema = z.strictObject({
  /**
   * Name of the new bucket. S3 has each name only once in the world.
   * @default the cluster's name, `-backups-` and digits
   */
  bucketName: z.string().optional(),
  /**
   * Name of a bucket that exists already, in the region and the account of the platform. Its settings stay as they are;
   * the stack creates only the access to it.
   * @default the stack creates a bucket
   */
  existingBucket: z.string().optional(),
  encryption: z
    .string()
    .optional()
    .meta({
      description:
        "Encryption of the bucket: `AES256`, `aws:kms` (the key of AWS for S3), or `aws:kms:ARN` with the ARN of your own " +
        "key. For an existing bucket, it only decides which key the deployments may use.",
      fallback: `\`${BACKUP_BUCKET_DEFAULTS.encryption}\``,
    }),
  keepDeletedDays: wholeNumber(KEEP_DELETED_DAYS.min, KEEP_DELETED_DAYS.max)
    .optional()
    .meta({
      description:
        "Time for which S3 keeps an object after it was deleted or overwritten. Until then, an administrator can recover it. " +
        "Deployments cannot delete such versions.",
      unit: "days",
      fallback: String(BACKUP_BUCKET_DEFAULTS.keepDeletedDays),
    }),
  onDestroy: z
    .enum(BUCKET_FATES)
    .optional()
    .meta({
      description:
        "`keep`: `destroy` leaves the bucket with its backups and its settings in the account. `delete`: `destroy` deletes " +
        "the bucket with all backups. A change takes effect with the next `up`.",
      fallback: `\`${BACKUP_BUCKET_DEFAULTS.onDestroy}\``,
    }),
});

const poolsSchema = z.strictObject({
  /** Machines for servers. */
  servers: pool(POOL_DEFAULTS.servers, serversCapacity).prefault({}),
  /** Machines with more bandwidth, for deployments with `pods.pool: networkOptimized`. @default no such pool */
  networkOptimized: pool(POOL_DEFAULTS.networkOptimized, serversCapacity).optional(),
  /** Machines for load generators. */
  clients: pool(POOL_DEFAULTS.clients, clientsCapacity).prefault({}),
});

const storageSchema = z.strictObject({
  /** Storage class: gp3, or gp3-fast with 6,000 IOPS and 500 MiB/s. */
  className: z.enum(STORAGE_CLASS_NAMES).default("gp3"),
  /** Size of each volume. */
  size: quantity.default("50Gi"),
});

const clientsSchema = z.strictObject({
  ...clientFields,
  /**
   * Resources reserved for each load generator. They have no limit, because a limit would slow the load generator down.
   */
  requests: resourceQuantities.default({ cpu: "1", memory: "1Gi" }),
  /** Letter of the load generators' zone. @default any zone */
  zone: zoneLetter.optional(),
});

/** Text that every AWS service accepts as the key or the value of a tag. */
const tagText = (start: RegExp, min: number, max: number): z.ZodString =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(
      new RegExp(String.raw`${start.source}[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`, "u"),
      "expected letters, digits, spaces and _.:/=+-@, and a key that does not begin with aws:",
    );

/**
 * Highest number of configured tags. AWS allows 50 tags for each resource, and Karpenter, EKS and this program add tags
 * of their own.
 */
const MAX_TAGS = 40;

export const eksPlatformSchema = z
  .strictObject({
    /** Platform. */
    type: z.literal("eks"),
    /** Region of AWS, outside China and GovCloud. */
    region: region.default("us-west-2"),
    /** Name of the cluster, and prefix of the names of its resources. @default project and stack name */
    clusterName: clusterName.optional(),
    /** Letters of the zones, in the order in which they are filled. */
    zones: z
      .array(zoneLetter)
      .min(2, "EKS needs subnets in at least 2 zones, and one zone cannot keep replicas apart from their primaries")
      .max(6)
      .default(["a", "b", "c"]),
    /** Network. */
    network: z.discriminatedUnion("kind", [ownNetwork, existingNetwork]).prefault({}),
    /** EKS cluster. */
    cluster: clusterSchema.prefault({}),
    /** Machines for Karpenter, CoreDNS and the volume controller. */
    system: systemSchema.prefault({}),
    /** Pools of machines, started by Karpenter. */
    pools: poolsSchema.prefault({}),
    /**
     * Cache in ECR for the images of Docker Hub. Machines pull the cached images from ECR. Required if the planned
     * machines together pull 100 or more images of Docker Hub (one pull per image and machine) from one IP address.
     * @default no cache
     */
    imageCache: imageCacheSchema.optional(),
    /**
     * S3 bucket for the backups of the deployments with `backup` and without `backup.bucket`. Each of them can use only
     * its own part of the bucket. `{}` creates a bucket with the defaults.
     * @default no bucket
     */
    backups: backupsSchema.optional(),
    ...podFields,
    /** Resources of each server. A limit above a machine's resources has no effect. */
    resources: resources.default({ requests: { cpu: "1", memory: "12Gi" }, limits: { cpu: "2", memory: "16Gi" } }),
    /** Volume of each server, deleted with the stack. */
    storage: storageSchema.prefault({}),
    /**
     * Load generators on machines of the pool `clients`. If there are enough machines, each load generator has its own
     * machine.
     */
    clients: clientsSchema.prefault({}),
    /** Tags of every resource. */
    tags: z
      .record(tagText(/^(?!aws:)/, 1, 127), tagText(/^/, 0, 255))
      .refine((tags) => Object.keys(tags).length <= MAX_TAGS, `at most ${MAX_TAGS} tags`)
      .default({}),
  })
  .superRefine(({ cluster, zones, network, clients }, context) => {
    const refuse = (code: string, path: string[], message: string): void => {
      context.addIssue({ code: "custom", params: { code }, path, message });
    };
    if (clients.zone !== undefined && !zones.includes(clients.zone)) {
      refuse(
        "no-such-zone",
        ["clients", "zone"],
        `the platform has no zone ${clients.zone}; zones of the platform: ${zones.join(", ")}`,
      );
    }
    const { publicAccessCidrs: cidrs, openToTheWorld } = cluster;
    const accessProblem = publicAccessProblem({ cidrs, openToTheWorld });
    if (accessProblem !== undefined) refuse("open-access", ["cluster", "publicAccessCidrs"], accessProblem);
    if (new Set(zones).size < zones.length) refuse("zone-twice", ["zones"], "a zone is named twice");
    if ("vpcId" in network && network.privateSubnetIds.length < zones.length) {
      const count = network.privateSubnetIds.length;
      refuse(
        "too-few-subnets",
        ["network", "privateSubnetIds"],
        `${count} subnets for ${zones.length} zones; expected at least one subnet for each zone`,
      );
    }
  })
  .meta({ title: "eks", description: "Pods on an EKS cluster that the stack creates." });

export type EksPlatformConfig = z.infer<typeof eksPlatformSchema>;

export function zoneNames({ region: name, zones }: Pick<EksPlatformConfig, "region" | "zones">): string[] {
  return zones.map((letter) => name + letter);
}
