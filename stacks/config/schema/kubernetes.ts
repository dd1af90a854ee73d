import { z } from "zod";
import { objectName } from "../../../model/pods";
import { resourceQuantities, clientFields, podFields, quantity, resources, zoneLabel } from "./pod-options";

const tolerationSchema = z.strictObject({
  /** Key of the taint. @default every key */
  key: z.string().optional(),
  /** Comparison with the taint. `Exists` ignores the value of the taint. @default Equal */
  operator: z.enum(["Exists", "Equal"]).optional(),
  /** Value of the taint. @default none */
  value: z.string().optional(),
  /** Effect of the taint. @default every effect */
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
});

const selector = (description: string): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>> =>
  z.record(z.string(), z.string()).optional().meta({ description, fallback: "any machine" });
const tolerations = (description: string): z.ZodOptional<z.ZodArray<typeof tolerationSchema>> =>
  z.array(tolerationSchema).optional().meta({ description, fallback: "none" });

const storageSchema = z.strictObject({
  /** Storage class. @default the cluster's default class */
  className: objectName.optional(),
  /** Size of each volume. A larger size grows the volumes of running servers. */
  size: quantity.default("8Gi"),
  /** Whether `pulumi destroy` keeps or deletes the volumes. */
  onDestroy: z.enum(["keep", "delete"]).default("delete"),
});

const clientsSchema = z.strictObject({
  ...clientFields,
  /** Whether load generators may share a machine with the servers under test. If true, every result has a warning. */
  shareMachines: z.boolean().default(false),
  /**
   * Resources reserved for each load generator. They have no limit, because a limit would slow the load generator down.
   * @default 100m CPU and 64Mi
   */
  requests: resourceQuantities.optional(),
  nodeSelector: selector("Labels of the machines for load generators."),
  tolerations: tolerations("Tolerations of the load generators."),
});

export const kubernetesSchema = z
  .strictObject({
    /** Platform. */
    type: z.literal("kubernetes"),
    /** Path of the kubeconfig. @default KUBECONFIG, else ~/.kube/config */
    kubeconfig: z.string().min(1).optional(),
    /** Context of the kubeconfig. @default the current context of the kubeconfig */
    context: z.string().min(1).optional(),
    ...podFields,
    /**
     * Whether the stack creates its namespace, and later deletes it with everything in it. If false, the namespace must
     * exist, with the Secrets that the stack names.
     */
    createNamespace: z.boolean().default(true),
    /** Zones over which the servers are spread: values of topology.kubernetes.io/zone. */
    zones: z.array(zoneLabel).min(1),
    /** Resources of each server. */
    resources: resources.default({ requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } }),
    /** Volume of each server. */
    storage: storageSchema.prefault({}),
    nodeSelector: selector("Labels of the machines for servers."),
    tolerations: tolerations("Tolerations of the servers."),
    /** Load generators. */
    clients: clientsSchema.prefault({}),
  })
  .meta({ title: "kubernetes", description: "Pods on a Kubernetes cluster that exists already." });
export type KubernetesConfig = z.infer<typeof kubernetesSchema>;
