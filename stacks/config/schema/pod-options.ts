import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import { z } from "zod";
import { POOLS } from "../../../platforms/eks/pools/pools";
import { wholeNumber } from "../../../lib/schema/fields";
import { METRICS_FIELDS, objectName, POD_FIELDS, VALKEY_POD_FIELDS } from "../../../model/pods";

export const quantity = z.string().regex(/^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/, "expected a quantity such as 500m, 1 or 2Gi");
export const zoneLabel = z
  .string()
  .regex(
    /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
    "expected a label's value: letters, digits, dots, hyphens and underscores",
  );
export const instanceType = z.string().regex(/^[a-z0-9-]+\.[a-z0-9-]+$/, "expected a machine type such as r7g.large");

export const resourceQuantities = z.strictObject({
  /** CPUs. */
  cpu: quantity.clone(),
  /** Memory. */
  memory: quantity.clone(),
});
export const resources = z.strictObject({
  /** Resources reserved for each server. */
  requests: resourceQuantities.clone(),
  /** Resource limits of each server. */
  limits: resourceQuantities.clone(),
});

const metricsSchema = z.strictObject({
  ...METRICS_FIELDS,
  /** Whether a PrometheusRule of the Prometheus operator is created, with alerts on the servers. */
  alerts: z.boolean().default(false),
});

export const podFields = {
  /** Namespace of all pods. The stack creates it, under the restricted Pod Security Standard. */
  namespace: objectName.default("valkey"),
  /** Image of the Valkey servers and of valkey-benchmark. */
  image: z.string().min(1).default(DEFAULT_IMAGE),
  ...POD_FIELDS,
  ...VALKEY_POD_FIELDS,
  /**
   * Placement of a deployment's nodes on machines. `required`: each node gets its own machine. `preferred`: each node
   * gets its own machine if there are enough machines. `none`: nodes may share machines. On EKS, machines are started
   * for the nodes, so `preferred` works like `required`.
   */
  hostAntiAffinity: z.enum(["required", "preferred", "none"]).default("preferred"),
  /** Prometheus exporter in the pod of every server. @default no exporter */
  metrics: metricsSchema.optional(),
} as const;

const perPrimary = z.strictObject({
  /** Number of load generators per primary of the largest deployment. */
  perPrimary: z.number().positive().max(10),
});

export const clientFields = {
  /**
   * Number of load generators that run at the same time: a fixed number, or a number per primary of the largest
   * deployment. Each is a pod that opens all connections of the workload and sends its share of the requests.
   */
  runners: z.union([wholeNumber(1, 1000), perPrimary]).default(1),
  /** Images of the load generators that the image of the servers does not contain. @default pinned images */
  images: z
    .strictObject({
      /** Image with Node 20 and a shell, for the open-loop load generator. @default a pinned image */
      node: z.string().min(1).optional(),
      /** Image with memtier_benchmark 2 and a shell. @default a pinned image */
      memtier: z.string().min(1).optional(),
    })
    .optional(),
} as const;

const podStorageSchema = z.strictObject({
  /** Storage class. @default the platform's */
  className: objectName.optional(),
  /** Size of each volume. @default the platform's */
  size: quantity.optional(),
  /** Whether data is on the disk of the machine and is deleted with the pod. */
  ephemeral: z.boolean().default(false),
});

export const deploymentPodsSchema = z.strictObject({
  /** Image of the servers. @default the engine's */
  image: z.string().min(1).optional(),
  /** Resources of each server. @default the platform's */
  resources: resources.optional(),
  /** Volume of each server. @default the platform's */
  storage: podStorageSchema.optional(),
  /** Zones of the deployment, in the order in which they are filled. @default all zones of the platform */
  zones: z.array(zoneLabel).min(1).optional(),
  /** Whether all nodes of the deployment run on one machine. */
  oneMachine: z.boolean().default(false),
  /** Pool of machines (platform `eks`). @default servers */
  pool: z.enum(POOLS).exclude(["clients"]).optional(),
  /**
   * Machine type: one of the types of the pool (platform `eks`).
   * @default the cheapest type of the pool that is large enough
   */
  instanceType: instanceType.optional(),
});
