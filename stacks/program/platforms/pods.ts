/** Deployments as pods, on any Kubernetes. */
import type * as k8s from "../../../components/kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { ScaleIn } from "../../../provider/resources/scale-in";
import { EngineReplication } from "../../../components/engine-replication";
import type { Labels } from "../../../platforms/kubernetes/pods";
import type { NetworkAccess, Placement, ServerArgs } from "../../../components/kubernetes/arguments";
import { objectNames } from "../../../components/kubernetes/names";
import { createLoadGeneratorPolicy } from "../../../components/kubernetes/network-policy";
import type { ServerPods } from "../../../components/kubernetes/pods/server-pods";
import { Password } from "../../../provider/resources/password";
import { Rollout } from "../../../provider/resources/rollout";
import { ValkeyCluster } from "../../../components/valkey-cluster";
import { ValkeyReplication } from "../../../components/valkey-replication";
import { configuredSentinels, configuredShape } from "../../plan/benchmark-plans";
import type { PodPlatform, PodSettings } from "../../plan/pods";
import { podSettings, podTarget, sentinelTarget } from "../../plan/pods";
import type { StartedDeployment } from "../deployed";
import type { DeploymentConfig } from "../../config/schema/deployments";
import type { StackConfig } from "../../config/schema/stack";

/** Labels of the namespace: Kubernetes enforces the restricted Pod Security Standard. */
export const POD_SECURITY = {
  "pod-security.kubernetes.io/enforce": "restricted",
  "pod-security.kubernetes.io/enforce-version": "latest",
};

/** Where pods are created, and the access of formation and measurement to them. */
export interface PodDestination {
  readonly provider: k8s.Provider;
  readonly namespace: k8s.core.v1.Namespace;
  /** A kubeconfig's path, or its text without secrets. */
  readonly kubeconfig: pulumi.Input<string> | undefined;
  readonly context: string | undefined;
  /** Block of addresses that network policies name in place of pods; undefined where they select pods. */
  readonly policyBlock?: string | undefined;
  /** What machines are labelled with, for each StatefulSet and Deployment, by its name; undefined where they exist. */
  readonly nodeSelectors: ReadonlyMap<string, Labels> | undefined;
}

/** Every deployment of a stack, the network policy of its load generators, and the dashboard of its metrics. */
export async function deployPodsOfStack(
  platform: PodPlatform,
  config: StackConfig,
  place: PodDestination,
): Promise<StartedDeployment[]> {
  if (platform.metrics !== undefined) {
    // Grafana's SDK is loaded only by stacks with metrics.
    const { createDashboard } = await import("../../../components/dashboard.js");
    createDashboard(platform.namespace, { provider: place.provider, dependsOn: [place.namespace] });
  }
  if (config.measures)
    createLoadGeneratorPolicy(
      place.namespace.metadata.name,
      { provider: place.provider, dependsOn: [place.namespace] },
      accessOf(place)?.nodes,
    );
  return Object.entries(config.deployments).map(([name, deployment]) =>
    deployPods(name, deployment, platform, config, place),
  );
}

function deployPods(
  name: string,
  deployment: DeploymentConfig,
  platform: PodPlatform,
  { verification }: StackConfig,
  place: PodDestination,
): StartedDeployment {
  const { password } = new Password(name);
  const settings = podSettings(platform, deployment);
  const on = (object: string): Placement => onMachines(settings.placement, object, place.nodeSelectors);
  const own = { ...settings, placement: on(name) };
  const args = {
    ...serverArgs(deployment, platform, own, password, place.namespace.metadata.name),
    access: accessOf(place),
  };
  // A preview knows it, and so does what must happen before the servers change.
  const planned = pulumi.output(place.kubeconfig).apply((kubeconfig): KubernetesReference => ({
    ...podTarget(name, deployment, platform),
    kubeconfig,
    context: place.context,
  }));
  const { className, size } = settings.storage;
  const drain = new ScaleIn(name, {
    target: planned,
    password,
    timeoutSeconds: verification.timeout,
    storage: { className, size },
  });
  const options = { provider: place.provider, dependsOn: [place.namespace, drain] };
  const servers = createServers(name, deployment, platform, args, on, options);
  const target = pulumi
    .all([planned, servers.endpoint, servers.pods.namespace])
    .apply(([known, service]) => ({ ...withPods(known, servers.pods), ...sentinelTarget(name, deployment), service }));
  const { revision } = servers;
  const rollout = new Rollout(
    name,
    { target, revision, timeoutSeconds: verification.timeout },
    { dependsOn: [servers] },
  );
  return {
    name,
    config: deployment,
    target,
    password,
    revision,
    dependsOn: [rollout],
    formsWithoutHelp: deployment.mode === "replication",
  };
}

/** Who may connect: whatever has an address of the block, or the default. */
function accessOf({ policyBlock }: PodDestination): NetworkAccess | undefined {
  if (policyBlock === undefined) return undefined;
  const peers = [{ ipBlock: { cidr: policyBlock } }];
  return { nodes: peers, clients: peers, monitoring: peers };
}

function createServers(
  name: string,
  deployment: DeploymentConfig,
  { chart }: PodPlatform,
  args: ServerArgs,
  on: (object: string) => Placement,
  options: pulumi.ComponentResourceOptions,
): ValkeyCluster | ValkeyReplication | EngineReplication {
  const { engine, mode } = deployment;
  if (mode === "cluster") return new ValkeyCluster(name, { ...args, shape: configuredShape(deployment) }, options);
  if (engine !== "valkey")
    return new EngineReplication(name, { ...args, engine, replicas: deployment.replicas }, options);
  const sentinel = configuredSentinels(deployment);
  const { sentinel: sentinels, writeProxy: proxies } = objectNames(name);
  const failoverNodeSelectors =
    sentinel === undefined
      ? undefined
      : { sentinels: { ...on(sentinels).nodeSelector }, proxies: { ...on(proxies).nodeSelector } };
  const { replicas } = deployment;
  return new ValkeyReplication(name, { ...args, replicas, chart, sentinel, failoverNodeSelectors }, options);
}

function onMachines(placement: Placement, object: string, selectors: PodDestination["nodeSelectors"]): Placement {
  if (selectors === undefined) return placement;
  const own = selectors.get(object);
  if (own === undefined) throw new Error(`no machines are planned for ${object}`);
  return { ...placement, nodeSelector: { ...placement.nodeSelector, ...own } };
}

function serverArgs(
  { engine, settings }: DeploymentConfig,
  { proxyImage, imagePullPolicy, metrics, tls }: PodPlatform,
  { image, resources, storage, placement }: PodSettings,
  password: pulumi.Output<string>,
  namespace: pulumi.Output<string>,
): ServerArgs {
  return {
    namespace,
    engine,
    image,
    proxyImage,
    imagePullPolicy,
    password,
    settings,
    resources,
    storage,
    placement,
    metrics,
    tls,
  };
}

function withPods(target: KubernetesReference, { statefulSet, container, port }: ServerPods): KubernetesReference {
  return { ...target, statefulSet, container, port };
}
