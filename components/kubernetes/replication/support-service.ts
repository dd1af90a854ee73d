/** The Service and the disruption budget of pods that support a deployment's servers: Sentinels, proxies. */
import type { types } from "@pulumi/kubernetes";
import type { DeploymentContext } from "../deployment-context";
import { ENGINE_ANNOTATIONS, objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";

export interface SupportService {
  /** Name of both objects. */
  readonly name: string;
  /** Labels of the pods. */
  readonly labels: Record<string, string>;
  readonly service: types.input.core.v1.ServiceSpec;
}

/** The budget lets one pod leave at a time. @returns metadata for the other objects of these pods */
export function createSupportService(
  context: DeploymentContext,
  { name, labels, service }: SupportService,
): types.input.meta.v1.ObjectMeta & { readonly name: string } {
  const { options } = context;
  const metadata = {
    ...objectMetadata(context, name),
    labels: { ...labels, "app.kubernetes.io/managed-by": "pulumi" },
  };
  new k8s.core.v1.Service(
    name,
    { metadata: { ...metadata, annotations: ENGINE_ANNOTATIONS }, spec: { ...service, selector: labels } },
    options,
  );
  new k8s.policy.v1.PodDisruptionBudget(
    name,
    { metadata, spec: { maxUnavailable: 1, selector: { matchLabels: labels } } },
    options,
  );
  return metadata;
}
