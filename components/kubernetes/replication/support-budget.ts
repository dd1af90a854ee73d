import type { types } from "@pulumi/kubernetes";
import { type DeploymentContext, objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";

interface SupportPods {
  readonly name: string;
  readonly labels: Record<string, string>;
}

/** @returns metadata for the other objects of these pods */
export function createSupportBudget(
  context: DeploymentContext,
  { name, labels }: SupportPods,
): types.input.meta.v1.ObjectMeta & { readonly name: string } {
  const metadata = {
    ...objectMetadata(context, name),
    labels: { ...labels, "app.kubernetes.io/managed-by": "pulumi" },
  };
  new k8s.policy.v1.PodDisruptionBudget(
    name,
    { metadata, spec: { maxUnavailable: 1, selector: { matchLabels: labels } } },
    context.options,
  );
  return metadata;
}
