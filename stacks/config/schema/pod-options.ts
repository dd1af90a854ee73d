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
  cpu: quantity.meta({ description: "CPUs." }),
  memory: quantity.meta({ description: "Memory." }),
});
export const resources = z.strictObject({
  requests: resourceQuantities.meta({ description: "Resources reserved for each server." }),
  limits: resourceQuantities.meta({ description: "Resource limits of each server." }),
});

const metricsSchema = z.strictObject({
  ...METRICS_FIELDS,
  alerts: z.boolean().default(false).meta({
    description: "Whether a PrometheusRule of the Prometheus operator is created, with alerts on the servers.",
  }),
});

export const podFields = {
  namespace: objectName.default("valkey").meta({
    description: "Namespace of all pods. The stack creates it, under the restricted Pod Security Standard.",
  }),
  image: z.string().min(1).default(DEFAULT_IMAGE).meta({
    description: "Image of the Valkey servers and of valkey-benchmark.",
  }),
  ...POD_FIELDS,
  ...VALKEY_POD_FIELDS,
  hostAntiAffinity: z
    .enum(["required", "preferred", "none"])
    .default("preferred")
    .meta({
      description:
        "Placement of a deployment's nodes on machines. `required`: each node gets its own machine. " +
        "`preferred`: each node gets its own machine if there are enough machines. `none`: nodes may share " +
        "machines. On EKS, machines are started for the nodes, so `preferred` works like `required`.",
    }),
  metrics: metricsSchema.optional().meta({
    description: "Prometheus exporter in the pod of every server.",
    fallback: "no exporter",
  }),
} as const;

const perPrimary = z.strictObject({
  perPrimary: z.number().positive().max(10).meta({
    description: "Number of load generators per primary of the largest deployment.",
  }),
});

export const clientFields = {
  runners: z
    .union([wholeNumber(1, 1000), perPrimary])
    .default(1)
    .meta({
      description:
        "Number of load generators that run at the same time: a fixed number, or a number per primary of the largest " +
        "deployment. Each is a pod that opens all connections of the workload and sends its share of the requests.",
    }),
  images: z
    .strictObject({
      node: z.string().min(1).optional().meta({
        description: "Image with Node 20 and a shell, for the open-loop load generator.",
        fallback: "a pinned image",
      }),
      memtier: z.string().min(1).optional().meta({
        description: "Image with memtier_benchmark 2 and a shell.",
        fallback: "a pinned image",
      }),
    })
    .optional()
    .meta({
      description: "Images of the load generators that the image of the servers does not contain.",
      fallback: "pinned images",
    }),
} as const;

const podStorageSchema = z.strictObject({
  className: objectName.optional().meta({ description: "Storage class.", fallback: "the platform's" }),
  size: quantity.optional().meta({ description: "Size of each volume.", fallback: "the platform's" }),
  ephemeral: z.boolean().default(false).meta({
    description: "Whether data is on the disk of the machine and is deleted with the pod.",
  }),
});

export const deploymentPodsSchema = z.strictObject({
  image: z.string().min(1).optional().meta({ description: "Image of the servers.", fallback: "the engine's" }),
  resources: resources.optional().meta({ description: "Resources of each server.", fallback: "the platform's" }),
  storage: podStorageSchema.optional().meta({ description: "Volume of each server.", fallback: "the platform's" }),
  zones: z.array(zoneLabel).min(1).optional().meta({
    description: "Zones of the deployment, in the order in which they are filled.",
    fallback: "all zones of the platform",
  }),
  oneMachine: z.boolean().default(false).meta({
    description: "Whether all nodes of the deployment run on one machine.",
  }),
  pool: z.enum(POOLS).exclude(["clients"]).optional().meta({
    description: "Pool of machines (platform `eks`).",
    fallback: "servers",
  }),
  instanceType: instanceType.optional().meta({
    description: "Machine type: one of the types of the pool (platform `eks`).",
    fallback: "the cheapest type of the pool that is large enough",
  }),
});
