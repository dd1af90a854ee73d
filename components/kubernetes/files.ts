/** Files for the pods to read. */
import type * as pulumi from "@pulumi/pulumi";
import * as k8s from "./kubernetes-sdk";
import type { DeploymentContext } from "./deployment-context";
import { objectMetadata } from "./deployment-context";

export function createConfigMap(
  context: DeploymentContext,
  name: string,
  files: pulumi.Input<Readonly<Record<string, string>>>,
): k8s.core.v1.ConfigMap {
  return new k8s.core.v1.ConfigMap(name, { metadata: objectMetadata(context, name), data: files }, context.options);
}
