/** How servers and load generators live on Kubernetes: what the platforms `kubernetes` and `eks` have in common. */
import { z } from "zod";
import { POOLS } from "../../../platforms/eks/pools";

export const quantity = z.string().regex(/^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/, "expected a quantity such as 500m, 1 or 2Gi");
export const zoneLabel = z
  .string()
  .regex(
    /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
    "expected a label's value: letters, digits, dots, hyphens and underscores",
  );
export const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "expected small letters, digits and hyphens");
export const instanceType = z.string().regex(/^[a-z0-9-]+\.[a-z0-9-]+$/, "expected a machine type such as r7g.large");

const amounts = z.strictObject({ cpu: quantity, memory: quantity });
export const resources = z.strictObject({ requests: amounts, limits: amounts });

const chartSchema = z.discriminatedUnion("from", [
  z.strictObject({ from: z.literal("repository"), url: z.url(), version: z.string().min(1) }),
  z.strictObject({ from: z.literal("oci"), url: z.string().startsWith("oci://"), version: z.string().min(1) }),
  z.strictObject({ from: z.literal("path"), path: z.string().min(1) }),
]);

/** Of all servers, but where a deployment says otherwise. */
export const podKeys = {
  /** Made by the stack, and held to the restricted Pod Security Standard. */
  namespace: objectName.default("valkey"),
  /** Of Valkey's servers, and of the load generators. */
  image: z.string().min(1).default("docker.io/valkey/valkey:9.1.2"),
  imagePullPolicy: z.enum(["Always", "IfNotPresent"]).optional(),
  /** Whether two nodes of a deployment may share a machine: never, only when there is no other, or as they fit. */
  hostAntiAffinity: z.enum(["required", "preferred", "none"]).default("preferred"),
  /** Of Valkey's replication deployments. @default the upstream repository, pinned */
  chart: chartSchema.optional(),
  /** An exporter for Prometheus beside every server. */
  metrics: z
    .strictObject({ image: z.string().min(1).optional(), serviceMonitor: z.boolean().default(false) })
    .optional(),
  /** A secret in the namespace with tls.crt, tls.key and ca.crt. */
  tls: z.strictObject({ secretName: objectName }).optional(),
} as const;

/** Who sends the load. */
export const clientKeys = {
  /**
   * Pods that send it side by side, each with the workload's clients and its part of the requests: how many, or how many
   * for each primary of the largest deployment, so that they grow with it.
   */
  runners: z
    .union([z.int().min(1).max(1000), z.strictObject({ perPrimary: z.number().positive().max(10) })])
    .default(1),
  /** Of the load generators that the servers' image has not got: any with Node 20 and a shell, any with memtier_benchmark 2 and a shell. @default pinned ones */
  images: z.strictObject({ node: z.string().min(1).optional(), memtier: z.string().min(1).optional() }).optional(),
} as const;

/** What one deployment's pods have that the platform's others have not; on `kubernetes` and `eks` only. */
export const deploymentPodsSchema = z.strictObject({
  /** @default the engine's */
  image: z.string().min(1).optional(),
  resources: resources.optional(),
  storage: z
    .strictObject({
      className: objectName.optional(),
      size: quantity.optional(),
      /** On the machine's own disk, gone with the pod: for clusters that keep nothing, and more pods on a machine than it takes volumes. */
      ephemeral: z.boolean().default(false),
    })
    .optional(),
  /** Some of the platform's, in the order in which they are filled. @default all */
  zones: z.array(zoneLabel).min(1).optional(),
  /** All of its nodes on one machine, which then is in one zone (S5). */
  oneMachine: z.boolean().default(false),
  /** Which of the pools of `eks` carries them. */
  pool: z.enum(POOLS).exclude(["clients"]).optional(),
  /** Which of the pool's machine types. @default whichever fits at the least price */
  instanceType: instanceType.optional(),
});
export type DeploymentPodsConfig = z.infer<typeof deploymentPodsSchema>;
