/** The section `deployments`: deployments by name. */
import { z } from "zod";
import { rulesProblem, userNameProblem } from "../../../valkey/access/users";
import { ENGINES } from "../../../valkey/settings/engines";
import { DIRECTIVE_NAME, settingsSchema } from "../../../valkey/settings/settings-schema";
import { SENTINEL_DEFAULTS, SENTINEL_LIMITS } from "../../../valkey/sentinel/sentinel-settings";
import {
  CHART_REPOSITORY,
  CHART_VERSION,
  sourceProblem,
  versionProblem,
} from "../../../components/kubernetes/deployment/chart-values";
import { wholeNumber } from "../../../lib/schema/fields";
import { LOOK_SECONDS, LOST_MACHINE_SECONDS, ON_LOST_MAJORITY } from "../../../controller/pod-settings";
import { backupSchema, restoreFromSchema } from "./backup";
import { deploymentPodsSchema, externalSchema, objectName } from "./pod-options";

const directiveName = z.string().regex(DIRECTIVE_NAME, "expected the name of a directive");

const refinement = (problem: (text: string) => string | undefined) =>
  [
    (text: string) => problem(text) === undefined,
    { error: ({ input }: { readonly input: unknown }) => problem(String(input)) ?? "" },
  ] as const;

const userRules = z
  .string()
  .refine(...refinement(rulesProblem))
  .meta({ description: "Rules of ACL SETUSER: commands, keys and channels, such as `+@read ~app:*`." });

const deploymentKeys = {
  engine: z.enum(ENGINES).default("valkey").meta({
    description: "Server program. Redis and Dragonfly need Kubernetes; Dragonfly has no cluster mode here.",
  }),
  settings: settingsSchema
    .prefault({})
    .meta({ description: "Directives of valkey.conf by name, except those that the deployment decides itself." }),
  newerDirectives: z.array(directiveName).optional().meta({
    description: "Names of directives in `settings` that only servers newer than this package know.",
    fallback: "none",
  }),
  onSilentReplica: z
    .union([z.literal("wait"), wholeNumber(1, 86_400)])
    .optional()
    .meta({
      description:
        "Time for which a starting primary waits for a silent replica, which may have newer data (platforms " +
        "`kubernetes` and `eks`, Valkey). `wait`: until the replica answers. A number: seconds.",
      fallback:
        "60; without an append-only file `wait`, unless a replica answers that has had a primary since it started",
    }),
  passwordVersion: wholeNumber(0).default(0).meta({
    description: "Change this number to have the next `pulumi up` generate a new password.",
  }),
  passwordSecret: z
    .strictObject({
      name: objectName.meta({ description: "Name of a Secret in the stack's namespace." }),
      key: z.string().min(1).meta({ description: "Key of the Secret's data." }),
    })
    .optional()
    .meta({
      description:
        "Existing Secret with the password (platforms `kubernetes` and `eks`). Each `pulumi up` reads the " +
        "Secret and, if the password has changed, sets the new password on the servers. The Secret, and " +
        "so its namespace, must exist before the first `pulumi up` (see `createNamespace`).",
      fallback: "a generated password",
    }),
  passwordOverlapSeconds: wholeNumber(90, 3600).default(120).meta({
    description: "Time for which the former password stays valid after a change (platforms `kubernetes` and `eks`).",
    unit: "seconds",
  }),
  users: z
    .record(z.string().refine(...refinement(userNameProblem)), z.strictObject({ rules: userRules }))
    .optional()
    .meta({
      description:
        "Users in addition to `default`, by name (platforms `kubernetes` and `eks`, Valkey). Passwords are generated.",
      fallback: "none",
    }),
  external: externalSchema.optional().meta({
    description:
      "Services for clients outside the Kubernetes cluster (platforms `kubernetes` and `eks`, Valkey). In " +
      "replication mode, one Service leads to the primary and one is for reads. In cluster mode, each node has a " +
      "Service and announces the address of this Service to all clients.",
    fallback: "none",
  }),
  controller: z
    .strictObject({
      everySeconds: wholeNumber(LOOK_SECONDS.min, LOOK_SECONDS.max).default(LOOK_SECONDS.default).meta({
        description: "Time between two verifications while the deployment passes.",
        unit: "seconds",
      }),
      repair: z.boolean().default(true).meta({
        description: "Whether the controller repairs the deployment. If false, the controller only reports problems.",
      }),
      onLostMajority: z
        .enum(ON_LOST_MAJORITY)
        .default("report")
        .meta({
          description:
            "Reaction to shards that have lost their primary and cannot elect a replica. `report`: a " +
            "Kubernetes Event contains the command with which you let a replica take over. `takeover`: the " +
            "replica with the greatest replication offset takes over, if the machine of the lost primary is " +
            "known to be off. Writes that this replica has not received are lost. `takeover` needs volumes, " +
            "and an append-only file or snapshots.",
        }),
      replaceLostMachinesAfterSeconds: wholeNumber(LOST_MACHINE_SECONDS.min, LOST_MACHINE_SECONDS.max)
        .optional()
        .meta({
          description:
            "Time after which the controller replaces the pods of a machine that does not come back. The " +
            "controller also deletes volumes that only this machine can use. It replaces one pod at a time, " +
            "and only if the other servers have all data. Needs `repair: true` and replicas.",
          unit: "seconds",
          fallback: "pods of lost machines are not replaced",
        }),
      repairSettings: z
        .boolean()
        .default(false)
        .meta({
          description:
            "Whether the controller also resets settings that somebody changed by hand. It sets the " +
            "configured values without a restart. Needs `repair: true`.",
        }),
    })
    .optional()
    .meta({
      description:
        "Controller: a pod that verifies the deployment at intervals (platforms `kubernetes` and `eks`, " +
        "Valkey). Each verification sends commands to the servers, so do not configure a controller in " +
        "stacks that measure.",
      fallback: "no controller",
    }),
  backup: backupSchema.optional().meta({
    description:
      "Backup to an S3 bucket by the pod `NAME-archive` (platforms `kubernetes` and `eks`, Valkey). A change restarts only this " +
      "pod. Without the key there is no such pod; what is in the bucket stays.",
    fallback: "no backup",
  }),
  restoreFrom: restoreFromSchema.optional().meta({
    description:
      "Archive from which `pulumi up` fills a new deployment before it verifies it (Valkey). Every key " +
      "is compared with the archive. A later change or removal changes no data. `npm start` does not restore.",
    fallback: "the deployment begins empty",
  }),
  oversubscribed: z
    .boolean()
    .default(false)
    .meta({
      description:
        "Whether to allow more `io-threads` than cores, and a `maxmemory` that is too large for the memory limit. " +
        "Use this option to measure the cost of such settings.",
    }),
  pods: deploymentPodsSchema.optional().meta({
    description: "Settings of the pods that differ from those of the platform (platforms `kubernetes` and `eks`).",
    fallback: "the platform's",
  }),
} as const;

const sentinelSchema = z.strictObject({
  count: wholeNumber(...SENTINEL_LIMITS.count)
    .refine(
      (value) => value % 2 === 1,
      "expected an odd number: 4 Sentinels, for example, tolerate no more failures than 3",
    )
    .default(SENTINEL_DEFAULTS.count)
    .meta({ description: "Number of Sentinels: an odd number. They are spread over the zones." }),
  quorum: wholeNumber(1, 9).optional().meta({
    description: "Number of Sentinels that must agree that the primary is down before a failover.",
    fallback: "a majority",
  }),
  "down-after-milliseconds": wholeNumber(...SENTINEL_LIMITS.downAfterMs)
    .default(SENTINEL_DEFAULTS.downAfterMs)
    .meta({
      description: "Time without a reply after which a Sentinel considers a node down.",
      unit: "milliseconds",
    }),
  "failover-timeout": wholeNumber(...SENTINEL_LIMITS.failoverTimeoutMs)
    .default(SENTINEL_DEFAULTS.failoverTimeoutMs)
    .meta({
      description: "Time after which an unfinished failover is tried again.",
      unit: "milliseconds",
    }),
});
export type SentinelConfig = z.infer<typeof sentinelSchema>;
export const DEFAULT_SENTINELS: SentinelConfig = sentinelSchema.parse({});

const chartSchema = z.strictObject({
  version: z
    .string()
    .refine(...refinement(versionProblem))
    .default(CHART_VERSION)
    .meta({ description: "Version of the chart." }),
  source: z
    .string()
    .refine(...refinement(sourceProblem))
    .default(CHART_REPOSITORY)
    .meta({
      description:
        "Source of the chart: the URL of a repository with the chart `valkey`, an address with `oci://`, " +
        "or a directory. For a directory, `version` is ignored.",
    }),
  values: z
    .record(z.string(), z.unknown())
    .default({})
    .meta({
      description:
        "Values of the chart. They override the values for images, placement, resources, volumes and " +
        "settings that follow from the deployment and the platform.",
    }),
});
export type ChartConfig = z.infer<typeof chartSchema>;

const mode = <const M extends string>(name: M): z.ZodLiteral<M> =>
  z.literal(name).meta({ description: "Mode of the deployment." });

const replicationSchema = z
  .strictObject({
    mode: mode("replication"),
    replicas: wholeNumber(0, 100).default(1).meta({ description: "Number of replicas of the one primary." }),
    sentinel: z
      .union([z.boolean(), sentinelSchema])
      .optional()
      .meta({
        description:
          "Sentinels that promote a replica when the primary fails. `true` means `{}`: every option has its default.",
        fallback:
          "`true` if the deployment runs Valkey in at least three zones, has a replica, and has a name of " +
          "at most 43 characters; else `false`",
      }),
    chart: chartSchema.optional().meta({
      description:
        "Helm chart of the Valkey project, which then creates the pods instead of this project (platforms " +
        "`kubernetes` and `eks`). Such a deployment is verified and measured, but has no failover. If you " +
        "add or remove `chart`, a new deployment without the old data is created.",
      fallback: "pods of this project",
    }),
    ...deploymentKeys,
  })
  .meta({ title: "replication", description: "One primary with its replicas." });

const clusterSchema = z
  .strictObject({
    mode: mode("cluster"),
    primaries: z
      .int()
      .min(3, "a cluster needs at least 3 primaries")
      .max(1000)
      .meta({ description: "Number of primaries." }),
    replicasPerPrimary: wholeNumber(0, 10).default(1).meta({ description: "Number of replicas of each primary." }),
    ...deploymentKeys,
  })
  .meta({ title: "cluster", description: "Shards, each a primary with its replicas." });

/** One deployment of the section `deployments`. */
export const deploymentSchema = z.discriminatedUnion("mode", [replicationSchema, clusterSchema]);
/** One deployment, parsed. */
export type DeploymentConfig = z.infer<typeof deploymentSchema>;

/** It is part of node names and file names and, on Kubernetes, of host names. */
export const deploymentName = z
  .string()
  .regex(
    /^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/,
    "expected lower-case letters, digits and hyphens, at most 31 characters, a letter first",
  );
