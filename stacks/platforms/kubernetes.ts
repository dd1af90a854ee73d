/** The platform `kubernetes`: pods in a namespace of the stack's own. */
import * as k8s from "@pulumi/kubernetes";
import type { Deployed } from "../program";
import type { StackConfig } from "../schema";
import type { KubernetesConfig } from "../schema-kubernetes";
import { deployPods, POD_SECURITY } from "./pods";

export function deployOnKubernetes(platform: KubernetesConfig, config: StackConfig): Deployed[] {
  const { kubeconfig, context } = platform;
  const provider = new k8s.Provider("kubernetes", {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    // A change of configuration is an update of the object pods are told about, not another object.
    enableConfigMapMutable: true,
    enableSecretMutable: true,
  });
  const namespace = new k8s.core.v1.Namespace("namespace", { metadata: { name: platform.namespace, labels: POD_SECURITY } }, { provider });
  return Object.entries(config.deployments).map(([name, deployment]) => deployPods(name, deployment, platform, config, { provider, namespace, kubeconfig, context }));
}
