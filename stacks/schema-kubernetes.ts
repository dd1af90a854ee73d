/** The platform `kubernetes`: a cluster that exists, and how servers and load generators live there. */
import { z } from "zod";

const quantity = z.string().regex(/^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/, "expected a quantity such as 500m, 1 or 2Gi");
const label = z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/, "expected a label's value: letters, digits, dots, hyphens and underscores");
const name = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "expected small letters, digits and hyphens");
const amounts = z.strictObject({ cpu: quantity, memory: quantity });

const chartSchema = z.discriminatedUnion("from", [
  z.strictObject({ from: z.literal("repository"), url: z.url(), version: z.string().min(1) }),
  z.strictObject({ from: z.literal("oci"), url: z.string().startsWith("oci://"), version: z.string().min(1) }),
  z.strictObject({ from: z.literal("path"), path: z.string().min(1) }),
]);

const tolerationSchema = z.strictObject({ key: z.string().optional(), operator: z.enum(["Exists", "Equal"]).optional(), value: z.string().optional(), effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional() });

export const kubernetesSchema = z.strictObject({
  type: z.literal("kubernetes"),
  /** Path of a kubeconfig. @default KUBECONFIG, else ~/.kube/config */
  kubeconfig: z.string().min(1).optional(),
  /** @default the kubeconfig's current one */
  context: z.string().min(1).optional(),
  /** Made by the stack, and held to the restricted Pod Security Standard. */
  namespace: name.default("valkey"),
  /** Values of topology.kubernetes.io/zone that the servers are spread over. */
  zones: z.array(label).min(1),
  /** The server's image; load generators use the same. */
  image: z.string().min(1).default("docker.io/valkey/valkey:9.1.2"),
  imagePullPolicy: z.enum(["Always", "IfNotPresent"]).optional(),
  resources: z.strictObject({ requests: amounts, limits: amounts }).default({ requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } }),
  storage: z
    .strictObject({
      /** @default the cluster's default class */
      className: name.optional(),
      size: quantity.default("8Gi"),
      /** What becomes of the volumes when the stack is destroyed. */
      onDestroy: z.enum(["keep", "delete"]).default("delete"),
    })
    .prefault({}),
  /** Whether two nodes of a deployment may share a machine when there is no other. */
  hostAntiAffinity: z.enum(["required", "preferred"]).default("preferred"),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  tolerations: z.array(tolerationSchema).optional(),
  /** Of the replication deployments. @default the upstream repository, pinned */
  chart: chartSchema.optional(),
  /** An exporter for Prometheus beside every server. */
  metrics: z.strictObject({ image: z.string().min(1).optional(), serviceMonitor: z.boolean().default(false) }).optional(),
  /** A secret in the namespace with tls.crt, tls.key and ca.crt. */
  tls: z.strictObject({ secretName: name }).optional(),
  /** Who sends the load. */
  clients: z
    .strictObject({
      /** Pods that send it side by side, each with the workload's clients and its part of the requests. */
      runners: z.int().min(1).max(1000).default(1),
      /** Allow them on machines that run a server of the deployment under test; every record says so. */
      sharing: z.boolean().default(false),
      nodeSelector: z.record(z.string(), z.string()).optional(),
      tolerations: z.array(tolerationSchema).optional(),
    })
    .prefault({}),
});
export type KubernetesConfig = z.infer<typeof kubernetesSchema>;
