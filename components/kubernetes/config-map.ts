/** Files for the pods to read. */
import * as k8s from "@pulumi/kubernetes";
import type { Context } from "./context";
import { metadata } from "./context";

export function createConfigMap(context: Context, name: string, files: Readonly<Record<string, string>>): k8s.core.v1.ConfigMap {
  return new k8s.core.v1.ConfigMap(name, { metadata: metadata(context, name), data: { ...files } }, context.options);
}
