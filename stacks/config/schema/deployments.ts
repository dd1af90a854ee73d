import { z } from "zod";
import { rulesProblem, userNameProblem } from "../../../valkey/access/users";
import { ENGINES } from "../../../valkey/settings/engines";
import { settingsSchema } from "../../../valkey/settings/settings-schema";
import {
  CHART_REPOSITORY,
  CHART_VERSION,
  sourceProblem,
  versionProblem,
} from "../../../components/kubernetes/deployment/chart-values";
import { wholeNumber } from "../../../lib/schema/fields";
import { CONTROLLER_FIELDS, DEPLOYMENT_FIELDS, SENTINEL_FIELDS, VALKEY_FIELDS } from "../../../model/deployment";
import { objectName } from "../../../model/pods";
import { backupSchema, restoreFromSchema } from "./backup";
import { deploymentPodsSchema } from "./pod-options";

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
  /** Server program. Redis and Dragonfly need Kubernetes; Dragonfly has no cluster mode here. */
  engine: z.enum(ENGINES).default("valkey"),
  /** Directives of valkey.conf by name, except those that the deployment decides itself. */
  settings: settingsSchema.prefault({}),
  ...DEPLOYMENT_FIELDS,
  ...VALKEY_FIELDS,
  /**
   * Existing Secret with the password (platforms `kubernetes` and `eks`). Each `pulumi up` reads the Secret and, if the
   * password has changed, sets the new password on the servers. The Secret, and so its namespace, must exist before the
   * first `pulumi up` (see `createNamespace`).
   * @default a generated password
   */
  passwordSecret: z
    .strictObject({
      /** Name of a Secret in the stack's namespace. */
      name: objectName.clone(),
      /** Key of the Secret's data. */
      key: z.string().min(1),
    })
    .optional(),
  /**
   * Users in addition to `default`, by name (platforms `kubernetes` and `eks`, Valkey). Passwords are generated.
   * @default none
   */
  users: z.record(z.string().refine(...refinement(userNameProblem)), z.strictObject({ rules: userRules })).optional(),
  /**
   * Controller: a pod that verifies the deployment at intervals (platforms `kubernetes` and `eks`, Valkey). Each
   * verification sends commands to the servers, so do not configure a controller in stacks that measure.
   * @default no controller
   */
  controller: z.strictObject(CONTROLLER_FIELDS).optional(),
  /**
   * Backup to an S3 bucket by the pod `NAME-archive` (platforms `kubernetes` and `eks`, Valkey). A change restarts only
   * this pod. Without the key, this pod does not exist, and the data in the bucket stay.
   * @default no backup
   */
  backup: backupSchema.optional(),
  /**
   * Archive from which `pulumi up` fills a new deployment before it verifies it (Valkey). Every key is compared with
   * the archive. A later change or removal changes no data. `npm start` does not restore.
   * @default the deployment begins empty
   */
  restoreFrom: restoreFromSchema.optional(),
  /**
   * Settings of the pods that differ from those of the platform (platforms `kubernetes` and `eks`).
   * @default the platform's
   */
  pods: deploymentPodsSchema.optional(),
} as const;

const sentinelSchema = z.strictObject(SENTINEL_FIELDS);
export const DEFAULT_SENTINELS = sentinelSchema.parse({});

const chartSchema = z.strictObject({
  /** Version of the chart. */
  version: z
    .string()
    .refine(...refinement(versionProblem))
    .default(CHART_VERSION),
  /**
   * Source of the chart: the URL of a repository with the chart `valkey`, an address with `oci://`, or a directory. For
   * a directory, `version` is ignored.
   */
  source: z
    .string()
    .refine(...refinement(sourceProblem))
    .default(CHART_REPOSITORY),
  /**
   * Values of the chart. They override the values for images, placement, resources, volumes and settings that follow
   * from the deployment and the platform.
   */
  values: z.record(z.string(), z.unknown()).default({}),
});
export type ChartConfig = z.infer<typeof chartSchema>;

const mode = <const M extends string>(name: M): z.ZodLiteral<M> =>
  z.literal(name).meta({ description: "Mode of the deployment." });

const replicationSchema = z
  .strictObject({
    mode: mode("replication"),
    /** Number of replicas of the one primary. */
    replicas: wholeNumber(0, 100).default(1),
    /**
     * Sentinels that promote a replica when the primary fails. `true` means `{}`: every option has its default.
     * @default `true` if the deployment runs Valkey in at least three zones, has a replica, and has a name of at most
     * 43 characters; else `false`
     */
    sentinel: z.union([z.boolean(), sentinelSchema]).optional(),
    /**
     * Helm chart of the Valkey project, which then creates the pods instead of this project (platforms `kubernetes` and
     * `eks`). Such a deployment is verified and measured, but has no failover. If you add or remove `chart`, a new
     * deployment without the old data is created.
     * @default pods of this project
     */
    chart: chartSchema.optional(),
    ...deploymentKeys,
  })
  .meta({ title: "replication", description: "One primary with its replicas." });

const clusterSchema = z
  .strictObject({
    mode: mode("cluster"),
    /** Number of primaries. */
    primaries: z.int().min(3, "a cluster needs at least 3 primaries").max(1000),
    /** Number of replicas of each primary. */
    replicasPerPrimary: wholeNumber(0, 10).default(1),
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
