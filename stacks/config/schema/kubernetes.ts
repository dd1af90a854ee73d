/** The platform `kubernetes`: a cluster that exists, and how servers and load generators live there. */
import { z } from "zod";
import { clientKeys, objectName, podKeys, quantity, resources, zoneLabel } from "./pods";

const tolerationSchema = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(["Exists", "Equal"]).optional(),
  value: z.string().optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
});

export const kubernetesSchema = z.strictObject({
  type: z.literal("kubernetes"),
  /** Path of a kubeconfig. @default KUBECONFIG, else ~/.kube/config */
  kubeconfig: z.string().min(1).optional(),
  /** @default the kubeconfig's current one */
  context: z.string().min(1).optional(),
  ...podKeys,
  /** Values of topology.kubernetes.io/zone that the servers are spread over. */
  zones: z.array(zoneLabel).min(1),
  resources: resources.default({ requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } }),
  storage: z
    .strictObject({
      /** @default the cluster's default class */
      className: objectName.optional(),
      size: quantity.default("8Gi"),
      /** What becomes of the volumes when the stack is destroyed. */
      onDestroy: z.enum(["keep", "delete"]).default("delete"),
    })
    .prefault({}),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  tolerations: z.array(tolerationSchema).optional(),
  /** Who sends the load. */
  clients: z
    .strictObject({
      ...clientKeys,
      /** Allow them on machines that run a server of the deployment under test; every record says so. */
      sharing: z.boolean().default(false),
      /** Of each. A CPU limit slows the load generator down. @default 100m and 64Mi */
      requests: z.strictObject({ cpu: quantity, memory: quantity }).optional(),
      nodeSelector: z.record(z.string(), z.string()).optional(),
      tolerations: z.array(tolerationSchema).optional(),
    })
    .prefault({}),
});
export type KubernetesConfig = z.infer<typeof kubernetesSchema>;
