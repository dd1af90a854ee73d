import * as pulumi from "@pulumi/pulumi";
import { DESIGNATED_KEY, leadLabels } from "../../../platforms/kubernetes/access/primary-lead";
import type { Labels } from "../../../platforms/kubernetes/pods/running-pods";
import type { ClientWay } from "../../../valkey/client-endpoints";
import { type DeploymentContext, ENGINE_ANNOTATIONS, objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";
import {
  BUS_PORT,
  CHANGED_BY_SHARDS,
  CLIENT_PORT,
  DATA_VOLUME,
  DESIGNATED_BY_ROLLOUT,
  IGNORED_VOLUME_FIELDS,
  LED_BY_ROLLOUT,
} from "../layout";
import { objectLabels, primaryLead, selectorLabels } from "../names";

/** DNS names for pods that are not ready: nodes of a cluster that is not formed yet find each other by them. */
export function createHeadlessService(context: DeploymentContext, ports: readonly number[]): k8s.core.v1.Service {
  const { names } = context;
  return new k8s.core.v1.Service(
    names.headless,
    {
      metadata: objectMetadata(context, names.headless, "headless"),
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector: selectorLabels(context.deployment),
        ports: ports.map((each) => servicePort(each === BUS_PORT ? "bus" : "valkey", each)),
      },
    },
    context.options,
  );
}

/** Their addresses stay when pods get new ones. @param proxies some Services are created when these are ready */
export function createServices(
  context: DeploymentContext,
  ways: readonly ClientWay[],
  proxies?: k8s.apps.v1.Deployment,
): void {
  for (const way of ways) createService(context, way, way.proxies === undefined ? undefined : proxies);
}

function createService(
  context: DeploymentContext,
  { service: name, to }: ClientWay,
  proxies: k8s.apps.v1.Deployment | undefined,
): void {
  const { deployment, names } = context;
  const { selector, options } =
    to === "all" ? { selector: selectorLabels(deployment), options: context.options } : leadToPrimary(context, proxies);
  const component = name === names.client ? "client" : name.slice(deployment.length + 1);
  new k8s.core.v1.Service(
    name,
    {
      metadata: { ...objectMetadata(context, name, component), annotations: ENGINE_ANNOTATIONS },
      spec: {
        selector,
        ports: [servicePort("valkey", CLIENT_PORT)],
      },
    },
    options,
  );
}

/** To the proxies, once they are ready; without proxies first to pod 0, then `Rollout` changes the selector. */
export function leadToPrimary(
  { deployment, names, args, options }: DeploymentContext,
  proxies: k8s.apps.v1.Deployment | undefined,
): { readonly selector: Labels; readonly options: pulumi.CustomResourceOptions } {
  const lead = primaryLead(deployment, proxies !== undefined, args.external !== undefined);
  return {
    selector: leadLabels(lead, `${names.statefulSet}-0`),
    options: pulumi.mergeOptions(options, {
      ignoreChanges: LED_BY_ROLLOUT,
      ...(proxies === undefined ? {} : { dependsOn: [proxies] }),
    }),
  };
}

/** From which scripts read the name of the primary's pod. At first, this ConfigMap names pod 0. */
export function createPrimaryFile(context: DeploymentContext): k8s.core.v1.ConfigMap {
  const { primary, statefulSet } = context.names;
  return new k8s.core.v1.ConfigMap(
    primary,
    { metadata: objectMetadata(context, primary), data: { [DESIGNATED_KEY]: `${statefulSet}-0` } },
    { ...context.options, ignoreChanges: DESIGNATED_BY_ROLLOUT },
  );
}

/** Creates a service account without rights, because the pods never call the API server. */
export function createServiceAccount(context: DeploymentContext): k8s.core.v1.ServiceAccount {
  const name = context.names.serviceAccount;
  return new k8s.core.v1.ServiceAccount(
    name,
    { metadata: objectMetadata(context, name), automountServiceAccountToken: false },
    context.options,
  );
}

/**
 * Allows one unavailable pod, so a primary and its replica are never evicted together. `DeploymentVerification` may
 * allow more for a cluster, by `disruptionGroups` in `operations/changes/budgets.ts`.
 */
export function createDisruptionBudget(context: DeploymentContext): k8s.policy.v1.PodDisruptionBudget {
  const name = context.names.disruptionBudget;
  return new k8s.policy.v1.PodDisruptionBudget(
    name,
    {
      metadata: objectMetadata(context, name),
      spec: { maxUnavailable: 1, selector: { matchLabels: selectorLabels(context.deployment) } },
    },
    { ...context.options, ignoreChanges: CHANGED_BY_SHARDS },
  );
}

/** @param isRestartedByRollout `Rollout` restarts pods, because another server must first take over */
export function createStatefulSet(
  context: DeploymentContext,
  nodes: number,
  template: k8s.types.input.core.v1.PodTemplateSpec,
  needed: pulumi.Resource[],
  hasVolumes: boolean,
  isRestartedByRollout: boolean,
): void {
  const { deployment, names, args, options } = context;
  new k8s.apps.v1.StatefulSet(
    names.statefulSet,
    {
      // Pulumi only waits until the object exists. `Rollout` waits for the pods.
      metadata: { ...objectMetadata(context, names.statefulSet), annotations: ENGINE_ANNOTATIONS },
      spec: {
        serviceName: names.headless,
        replicas: nodes,
        // All pods start at the same time, and none waits for another.
        podManagementPolicy: "Parallel",
        updateStrategy: { type: isRestartedByRollout ? "OnDelete" : "RollingUpdate" },
        selector: { matchLabels: selectorLabels(deployment) },
        template,
        volumeClaimTemplates: hasVolumes ? [dataVolume(context)] : [],
        // Volumes of removed nodes are deleted. A removed node has left the cluster. If it came back with its volume,
        // it would have a node ID that the others have forgotten.
        persistentVolumeClaimRetentionPolicy: {
          whenDeleted: args.storage.onDestroy === "keep" ? "Retain" : "Delete",
          whenScaled: "Delete",
        },
      },
    },
    { ...options, dependsOn: needed, ignoreChanges: IGNORED_VOLUME_FIELDS },
  );
}

function dataVolume({
  deployment,
  args: { storage },
}: DeploymentContext): k8s.types.input.core.v1.PersistentVolumeClaim {
  return {
    metadata: { name: DATA_VOLUME, labels: objectLabels(deployment) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      ...(storage.className === undefined ? {} : { storageClassName: storage.className }),
      resources: { requests: { storage: storage.size } },
    },
  };
}

function servicePort(name: string, number: number): k8s.types.input.core.v1.ServicePort {
  return { name, port: number, targetPort: name };
}
