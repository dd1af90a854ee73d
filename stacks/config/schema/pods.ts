/** Keys that the platforms `kubernetes` and `eks` share: how servers and load generators run as pods. */
import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import { z } from "zod";
import { POOLS } from "../../../platforms/eks/pools/pools";
import { wholeNumber } from "../../../lib/schema/fields";

/** An amount of CPU, memory or storage, as Kubernetes writes it. */
export const quantity = z.string().regex(/^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/, "expected a quantity such as 500m, 1 or 2Gi");
/** The value of a label. */
export const zoneLabel = z
  .string()
  .regex(
    /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
    "expected a label's value: letters, digits, dots, hyphens and underscores",
  );
/** The name of a Kubernetes object. */
export const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "expected lower-case letters, digits and hyphens");
/** A machine type of AWS. */
export const instanceType = z.string().regex(/^[a-z0-9-]+\.[a-z0-9-]+$/, "expected a machine type such as r7g.large");

/** CPU and memory. */
export const resourceQuantities = z.strictObject({
  cpu: quantity.meta({ description: "CPUs." }),
  memory: quantity.meta({ description: "Memory." }),
});
/** Requests and limits of a server. */
export const resources = z.strictObject({
  requests: resourceQuantities.meta({ description: "Resources reserved for each server." }),
  limits: resourceQuantities.meta({ description: "Most resources that each server may use." }),
});

const metricsSchema = z.strictObject({
  image: z.string().min(1).optional().meta({ description: "Image of the exporter.", fallback: "a pinned image" }),
  serviceMonitor: z.boolean().default(false).meta({
    description: "Whether a ServiceMonitor of the Prometheus operator is created.",
  }),
  alerts: z.boolean().default(false).meta({
    description: "Whether a PrometheusRule of the Prometheus operator is created, with alerts on the servers.",
  }),
});

/** Keys of all servers of a platform. */
export const podFields = {
  namespace: objectName.default("valkey").meta({
    description: "Namespace of all pods. The stack creates it, under the restricted Pod Security Standard.",
  }),
  image: z.string().min(1).default(DEFAULT_IMAGE).meta({
    description: "Image of the Valkey servers and of valkey-benchmark.",
  }),
  proxyImage: z.string().min(1).optional().meta({
    description: "Image of HAProxy 3, for the proxies in front of primaries with Sentinels.",
    fallback: "a pinned image",
  }),
  imagePullPolicy: z.enum(["Always", "IfNotPresent"]).optional().meta({
    description: "When images are pulled.",
    fallback: "Kubernetes' own default",
  }),
  imagePullSecrets: z.array(objectName).optional().meta({
    description: "Secrets of the namespace for the registries of all images. A new namespace has none yet.",
    fallback: "none",
  }),
  hostAntiAffinity: z.enum(["required", "preferred", "none"]).default("preferred").meta({
    description:
      "Whether each node of a deployment needs a machine of its own: always, where there are enough machines, or never. On EKS machines are started for them, so `preferred` is `required`.",
  }),
  metrics: metricsSchema.optional().meta({
    description: "Prometheus exporter beside every server.",
    fallback: "no exporter",
  }),
  tls: z
    .strictObject({
      secretName: objectName.optional().meta({
        description:
          "Secret of the namespace with tls.crt, tls.key and ca.crt. Servers load a new certificate without a restart.",
        fallback: "that of the issuer",
      }),
      issuer: z
        .strictObject({
          name: objectName.meta({ description: "Name." }),
          kind: z
            .enum(["Issuer", "ClusterIssuer"])
            .default("Issuer")
            .meta({ description: "Kind of the issuer: of the namespace, or of the cluster." }),
        })
        .optional()
        .meta({
          description: "Issuer of cert-manager, which writes the Secret NAME-tls of each deployment and renews it.",
          fallback: "none",
        }),
    })
    .refine(({ secretName, issuer }) => (secretName === undefined) !== (issuer === undefined), {
      message: "expected either secretName or issuer",
    })
    .optional()
    .meta({ description: "TLS for clients, replication and the cluster bus.", fallback: "plain TCP" }),
  allowDowntime: z.boolean().default(false).meta({
    description: "Whether a change that needs it may restart all nodes at once, with their data: TLS on and off.",
  }),
} as const;

const perPrimary = z.strictObject({
  perPrimary: z.number().positive().max(10).meta({
    description: "Load generators per primary of the largest deployment.",
  }),
});

/** Keys of the load generators of a platform. */
export const clientFields = {
  runners: z
    .union([wholeNumber(1, 1000), perPrimary])
    .default(1)
    .meta({
      description:
        "Number of load-generating pods that run at the same time, fixed or per primary of the largest deployment. Each " +
        "has the workload's clients, and its share of the requests.",
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
    .meta({ description: "Images of the load generators that the servers' image lacks.", fallback: "pinned images" }),
} as const;

/** Reach of one deployment from outside the Kubernetes cluster. */
export const externalSchema = z.strictObject({
  type: z.enum(["LoadBalancer", "NodePort"]).meta({
    description: "Type of the Services. Clusters with node ports need Valkey 9.1.",
  }),
  annotations: z.record(z.string().min(1), z.string()).optional().meta({
    description: "Annotations of the Services, for the controller of load balancers.",
    fallback: "none",
  }),
  sourceRanges: z.array(z.string()).min(1).optional().meta({
    description:
      "Blocks of addresses from which load balancers take connections; of a cluster with those of pods and machines.",
    fallback: "any",
  }),
});

const podStorageSchema = z.strictObject({
  className: objectName.optional().meta({ description: "Storage class.", fallback: "the platform's" }),
  size: quantity.optional().meta({ description: "Size of each volume.", fallback: "the platform's" }),
  ephemeral: z.boolean().default(false).meta({
    description: "Whether data lives on the machine's own disk and ends with the pod.",
  }),
});

/** Keys of one deployment's pods that differ from the platform's; on `kubernetes` and `eks` only. */
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
    description: "Machine type, one of the pool's (platform `eks`).",
    fallback: "the cheapest type of the pool that has room",
  }),
});
