import * as k8s from "../../../components/kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { Toleration } from "../../../platforms/kubernetes/pods/running-pods";
import type { KubernetesRequirements } from "../../../platforms/kubernetes/cluster/requirements";
import { nodeCount } from "../../../valkey/topology/placement";
import { ClusterCheck } from "../../../operations/provider/resources";
import { configuredShape } from "../../plan/benchmark-plans";
import { withoutUndefinedKeys, deploymentZones, podSettings } from "../../plan/pod-settings";
import type { ProgramDeployment } from "./deployed";
import type { StackConfig } from "../../config/schema/stack";
import type { KubernetesConfig } from "../../config/schema/kubernetes";
import { createNamespace, deployPodsOfStack } from "./pod-deployments";

export function deployOnKubernetes(
  stack: string,
  platform: KubernetesConfig,
  config: StackConfig,
): ProgramDeployment[] {
  const keepsVolumes = platform.storage.onDestroy === "keep";
  const { kubeconfig, context } = platform;
  const check = new ClusterCheck("kubernetes", {
    kubeconfig,
    context,
    needs: clusterNeeds(platform, config),
    stack: `${pulumi.getProject()}/${stack}`,
    keepsNamespace: keepsVolumes && platform.createNamespace,
  });
  const provider = new k8s.Provider("kubernetes", {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    // ConfigMaps and Secrets are updated in place, because pods refer to them by name.
    enableConfigMapMutable: true,
    enableSecretMutable: true,
    // Objects that an interrupted update created but did not record in the state are adopted, but only in the stack's
    // own namespace. In a shared namespace, an object with the same name may belong to others.
    upsertExistingObjects: platform.createNamespace,
    enablePatchForce: true,
  });
  // Volumes that must be kept would be deleted with their namespace, so the namespace is kept too.
  const namespace = platform.createNamespace
    ? createNamespace(platform.namespace, { provider, dependsOn: [check], retainOnDelete: keepsVolumes })
    : { name: platform.namespace, dependsOn: [check] };
  return deployPodsOfStack(platform, config, { provider, namespace, kubeconfig, context, nodeSelectors: undefined });
}

function clusterNeeds(platform: KubernetesConfig, { deployments, measures }: StackConfig): KubernetesRequirements {
  const { namespace, createNamespace: createsNamespace, clients, nodeSelector, tolerations } = platform;
  const each = Object.entries(deployments).map(([name, deployment]) => ({
    name,
    nodes: nodeCount(configuredShape(deployment)),
    zones: deploymentZones(platform, deployment),
    ...podSettings(platform, deployment),
  }));
  const runner =
    measures && !clients.shareMachines
      ? {
          nodeSelector: clients.nodeSelector,
          tolerations: clients.tolerations?.map((each): Toleration => withoutUndefinedKeys(each)),
        }
      : undefined;
  return {
    namespace,
    createsNamespace,
    zones: [...new Set(each.flatMap(({ zones }) => zones))],
    storageClasses: [...new Set(each.flatMap(({ storage }) => (storage.ephemeral ? [] : [storage.className ?? null])))],
    servers: each.map(({ name, nodes, placement }) => ({
      name,
      nodes,
      onePerMachine: placement.hostAntiAffinity === "required" && placement.oneMachine !== true,
      nodeSelector,
      tolerations: tolerations?.map((each): Toleration => withoutUndefinedKeys(each)),
    })),
    runner,
    controllers: Object.entries(deployments).flatMap(([name, { controller }]) =>
      controller === undefined ? [] : [name],
    ),
  };
}
