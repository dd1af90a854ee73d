import { z } from "zod";
import { objectName } from "../../../model/pods";
import { resourceQuantities, clientFields, podFields, quantity, resources, zoneLabel } from "./pod-options";

const tolerationSchema = z.strictObject({
  key: z.string().optional().meta({ description: "Key of the taint.", fallback: "every key" }),
  operator: z
    .enum(["Exists", "Equal"])
    .optional()
    .meta({ description: "Comparison with the taint. `Exists` ignores the value of the taint.", fallback: "Equal" }),
  value: z.string().optional().meta({ description: "Value of the taint.", fallback: "none" }),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional().meta({
    description: "Effect of the taint.",
    fallback: "every effect",
  }),
});

const selector = (description: string): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>> =>
  z.record(z.string(), z.string()).optional().meta({ description, fallback: "any machine" });
const tolerations = (description: string): z.ZodOptional<z.ZodArray<typeof tolerationSchema>> =>
  z.array(tolerationSchema).optional().meta({ description, fallback: "none" });

const storageSchema = z.strictObject({
  className: objectName.optional().meta({
    description: "Storage class.",
    fallback: "the cluster's default class",
  }),
  size: quantity
    .default("8Gi")
    .meta({ description: "Size of each volume. A larger size grows the volumes of running servers." }),
  onDestroy: z.enum(["keep", "delete"]).default("delete").meta({
    description: "Whether `pulumi destroy` keeps or deletes the volumes.",
  }),
});

const clientsSchema = z.strictObject({
  ...clientFields,
  shareMachines: z.boolean().default(false).meta({
    description:
      "Whether load generators may share a machine with the servers under test. If true, every result has a warning.",
  }),
  requests: resourceQuantities.optional().meta({
    description:
      "Resources reserved for each load generator. There is no limit, because a limit would slow the load " +
      "generator down.",
    fallback: "100m CPU and 64Mi",
  }),
  nodeSelector: selector("Labels of the machines for load generators."),
  tolerations: tolerations("Tolerations of the load generators."),
});

export const kubernetesSchema = z
  .strictObject({
    type: z.literal("kubernetes").meta({ description: "Platform." }),
    kubeconfig: z.string().min(1).optional().meta({
      description: "Path of the kubeconfig.",
      fallback: "KUBECONFIG, else ~/.kube/config",
    }),
    context: z.string().min(1).optional().meta({
      description: "Context of the kubeconfig.",
      fallback: "the current context of the kubeconfig",
    }),
    ...podFields,
    createNamespace: z
      .boolean()
      .default(true)
      .meta({
        description:
          "Whether the stack creates its namespace, and later deletes it with everything in it. If false, " +
          "the namespace must exist, with the Secrets that the stack names.",
      }),
    zones: z.array(zoneLabel).min(1).meta({
      description: "Zones over which the servers are spread: values of topology.kubernetes.io/zone.",
    }),
    resources: resources
      .default({ requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } })
      .meta({ description: "Resources of each server." }),
    storage: storageSchema.prefault({}).meta({ description: "Volume of each server." }),
    nodeSelector: selector("Labels of the machines for servers."),
    tolerations: tolerations("Tolerations of the servers."),
    clients: clientsSchema.prefault({}).meta({ description: "Load generators." }),
  })
  .meta({ title: "kubernetes", description: "Pods on a Kubernetes cluster that exists already." });
export type KubernetesConfig = z.infer<typeof kubernetesSchema>;
