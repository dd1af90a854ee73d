/** The platform `kubernetes`: pods in a namespace of the stack's own. */
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { directives } from "../../benchmarks/settings";
import type { KubernetesTarget } from "../../benchmarks/target";
import { Drain } from "../../components/drain";
import type { ServerArgs } from "../../components/kubernetes/arguments";
import { objectNames } from "../../components/kubernetes/names";
import type { ServerPods } from "../../components/kubernetes/server-pods";
import { Password } from "../../components/password";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import { shapeOf } from "../plans";
import type { Deployed } from "../program";
import type { DeploymentConfig, StackConfig } from "../schema";
import type { KubernetesConfig } from "../schema-kubernetes";

/** Kept apart from the image's own account of what it holds: Kubernetes enforces it. */
const POD_SECURITY = { "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest" };

export function deployOnKubernetes(platform: KubernetesConfig, config: StackConfig): Deployed[] {
  const provider = new k8s.Provider("kubernetes", {
    ...(platform.kubeconfig === undefined ? {} : { kubeconfig: platform.kubeconfig }),
    ...(platform.context === undefined ? {} : { context: platform.context }),
    // A change of configuration is an update of the object pods are told about, not another object.
    enableConfigMapMutable: true,
    enableSecretMutable: true,
  });
  const namespace = new k8s.core.v1.Namespace("namespace", { metadata: { name: platform.namespace, labels: POD_SECURITY } }, { provider });
  return Object.entries(config.deployments).map(([name, deployment]) => deploy(name, deployment, platform, config, { provider, namespace }));
}

interface Place {
  readonly provider: k8s.Provider;
  readonly namespace: k8s.core.v1.Namespace;
}

function deploy(name: string, deployment: DeploymentConfig, platform: KubernetesConfig, { verification }: StackConfig, { provider, namespace }: Place): Deployed {
  const { password } = new Password(name);
  const args = serverArgs(deployment, platform, verification.timeout, password, namespace.metadata.name);
  const planned = plannedTarget(name, deployment, platform);
  const drain = new Drain(name, { target: planned, password, timeoutSeconds: verification.timeout });
  const options = { provider, dependsOn: [namespace, drain] };
  const servers = deployment.mode === "cluster" ? new ValkeyCluster(name, { ...args, shape: shapeOf(deployment) }, options) : new ValkeyReplication(name, { ...args, replicas: deployment.replicas, chart: platform.chart }, options);
  const target = pulumi.all([servers.endpoint, servers.pods.namespace]).apply(([service]) => ({ ...withPods(planned, servers.pods), service }));
  return { name, config: deployment, target, password, dependsOn: [servers], formsItself: deployment.mode === "replication" };
}

function serverArgs({ settings }: DeploymentConfig, platform: KubernetesConfig, startSeconds: number, password: pulumi.Output<string>, namespace: pulumi.Output<string>): ServerArgs {
  const { image, imagePullPolicy, resources, storage, zones, hostAntiAffinity, nodeSelector, tolerations, metrics, tls } = platform;
  return { namespace, image, imagePullPolicy, password, settings, resources, storage, placement: { zones, hostAntiAffinity, nodeSelector, tolerations: tolerations?.map(defined) }, metrics, tls, startSeconds };
}

/** Without the keys that are not there: Kubernetes' types know no undefined. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** What follows from the configuration alone: a preview knows it, and so does what must happen before the servers change. */
function plannedTarget(name: string, deployment: DeploymentConfig, platform: KubernetesConfig): KubernetesTarget {
  const { kubeconfig, context, namespace, zones, tls } = platform;
  const { statefulSet, client } = objectNames(name);
  return {
    platform: "kubernetes",
    name,
    mode: deployment.mode,
    shape: shapeOf(deployment),
    zones,
    directives: Object.fromEntries(directives(deployment.settings)),
    kubeconfig,
    context,
    namespace,
    statefulSet,
    container: deployment.mode === "cluster" ? "valkey" : name,
    port: 6379,
    tls: tls !== undefined,
    service: `${client}.${namespace}`,
  };
}

function withPods(target: KubernetesTarget, { statefulSet, container, port }: ServerPods): KubernetesTarget {
  return { ...target, statefulSet, container, port };
}
