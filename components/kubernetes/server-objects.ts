/** Kubernetes objects that the servers of a native deployment have in common, in cluster and replication mode. */
import type * as pulumi from "@pulumi/pulumi";
import type { ClientWay } from "../../valkey/verification/client-ways";
import type { DeploymentContext } from "./deployment-context";
import { ENGINE_ANNOTATIONS, objectMetadata } from "./deployment-context";
import * as k8s from "./kubernetes-sdk";
import { BUS_PORT, CHANGED_BY_SHARDS, CLIENT_PORT, DATA_VOLUME, GROWN_BY_VOLUMES } from "./layout";
import { objectLabels, POD_NAME_LABEL, proxyLabels, selectorLabels } from "./names";

/** Gives every pod a DNS name before it is ready: nodes of an unformed cluster find each other by these names. */
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

/**
 * Services of pods that are ready. They keep their addresses when pods come back with others.
 * @param proxies to which some of the Services lead, once they are ready
 */
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
  const servers = to === "all" ? selectorLabels(deployment) : firstPodLabels(context);
  const component = name === names.client ? "client" : name.slice(deployment.length + 1);
  new k8s.core.v1.Service(
    name,
    {
      metadata: { ...objectMetadata(context, name, component), annotations: ENGINE_ANNOTATIONS },
      spec: {
        selector: proxies === undefined ? servers : proxyLabels(deployment),
        ports: [servicePort("valkey", CLIENT_PORT)],
      },
    },
    { ...context.options, ...(proxies === undefined ? {} : { dependsOn: [proxies] }) },
  );
}

/** Labels of pod 0, which is the primary where no Sentinels watch. */
export function firstPodLabels({ deployment, names }: DeploymentContext): Record<string, string> {
  return { ...selectorLabels(deployment), [POD_NAME_LABEL]: `${names.statefulSet}-0` };
}

/** An account without rights: the pods never call the API server. */
export function createServiceAccount(context: DeploymentContext): k8s.core.v1.ServiceAccount {
  const name = context.names.serviceAccount;
  return new k8s.core.v1.ServiceAccount(
    name,
    { metadata: objectMetadata(context, name), automountServiceAccountToken: false },
    context.options,
  );
}

/**
 * Lets one pod leave at a time: a primary and its replica never leave together. `TopologyCheck` lets more pods of a cluster go, by the
 * shards that it has found.
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

/**
 * Updates one pod at a time.
 * @param hasVolumes whether each pod has a volume of its own
 */
export function createStatefulSet(
  context: DeploymentContext,
  nodes: number,
  template: k8s.types.input.core.v1.PodTemplateSpec,
  needed: pulumi.Resource[],
  hasVolumes: boolean,
): void {
  const { deployment, names, args, options } = context;
  new k8s.apps.v1.StatefulSet(
    names.statefulSet,
    {
      metadata: { ...objectMetadata(context, names.statefulSet), annotations: ENGINE_ANNOTATIONS },
      spec: {
        serviceName: names.headless,
        replicas: nodes,
        // All pods start at once; no pod waits for another.
        podManagementPolicy: "Parallel",
        updateStrategy: { type: "RollingUpdate" },
        selector: { matchLabels: selectorLabels(deployment) },
        template,
        volumeClaimTemplates: hasVolumes ? [dataVolume(context)] : [],
        // A removed node lost its slots and left the cluster. With its volume it would return with a node ID that the
        // others have forgotten.
        persistentVolumeClaimRetentionPolicy: {
          whenDeleted: args.storage.onDestroy === "keep" ? "Retain" : "Delete",
          whenScaled: "Delete",
        },
      },
    },
    { ...options, dependsOn: needed, ignoreChanges: GROWN_BY_VOLUMES },
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
