/**
 * A Valkey cluster on Kubernetes, of native resources (or one of Redis, to compare it with). Its pods are ready as soon as they answer: forming them into a
 * cluster is a later step, by whoever can plan it. From then on they are ready when they do their part in it.
 */
import * as k8s from "./kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { Shape } from "../valkey/topology/placement";
import type { ServerArgs } from "./kubernetes/arguments";
import { createConfigMap } from "./kubernetes/config-map";
import type { DeploymentContext } from "./kubernetes/deployment-context";
import { objectMetadata, AWAIT_CREATION_ONLY, podRevision } from "./kubernetes/deployment-context";
import { BUS_PORT, CLIENT_PORT, DATA_VOLUME, SERVER_CONTAINER } from "./kubernetes/layout";
import { directiveEngine } from "./kubernetes/engines";
import { createMetrics, EXPORTER_FILE, exporterPasswords } from "./kubernetes/metrics";
import { objectLabels, objectNames, selectorLabels } from "./kubernetes/names";
import { createNetworkPolicy } from "./kubernetes/network-policy";
import { clusterPod } from "./kubernetes/pods/cluster-pod";
import { scriptFiles } from "./kubernetes/scripts";
import { createSecret } from "./kubernetes/secret";
import { clusterConfig, PASSWORD_CONFIG, PASSWORD_FILE, passwordConfig } from "./kubernetes/server-config";
import type { ServerPods } from "./kubernetes/pods/server-pods";
import { serverPods, serviceEndpoint } from "./kubernetes/pods/server-pods";
import { planClusterZones } from "./kubernetes/pods/zone-plan";

export interface ValkeyClusterArgs extends ServerArgs {
  /** Shards, and replicas of each. Another number of nodes changes the StatefulSet's `replicas` and nothing else. */
  readonly shape: Shape;
}

/**
 * StatefulSet, Services, configuration, password, disruption budget, network policy and service account.
 * The name given is the deployment's: it names every object, so it never changes.
 */
export class ValkeyCluster extends pulumi.ComponentResource {
  /** Where the nodes are found, one by one. */
  readonly pods: ServerPods;
  /** Changes with what the pods are made of. */
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` at which clients in the Kubernetes cluster learn of all nodes. */
  readonly endpoint: pulumi.Output<string>;

  /** @throws BadInput when the name makes no host name, or the zones cannot keep replicas apart from their primaries */
  constructor(name: string, args: ValkeyClusterArgs, options?: pulumi.ComponentResourceOptions) {
    const { nodes } = planClusterZones(name, args.shape, args.placement.zones);
    const names = objectNames(name);
    super("valkey:kubernetes:ValkeyCluster", name, {}, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };
    const config = clusterConfig(args.settings, args.tls);

    const needed = [
      createHeadlessService(context, [CLIENT_PORT, BUS_PORT]),
      createConfigMap(context, names.config, { "valkey.conf": config }),
      createConfigMap(context, names.scripts, scriptFiles("cluster")),
      createSecret(context, secretFiles(args)),
      createServiceAccount(context),
      createNetworkPolicy(context, [CLIENT_PORT, BUS_PORT]),
      createDisruptionBudget(context),
    ];
    const template = clusterPod(context, config);
    createStatefulSet(context, nodes, template, needed, args.storage.ephemeral !== true);
    createClientService(context);
    createMetrics(context);

    this.pods = serverPods(context, nodes, SERVER_CONTAINER);
    this.revision = podRevision(template);
    this.endpoint = serviceEndpoint(names.client, context);
    this.registerOutputs({ namespace: this.pods.namespace, endpoint: this.endpoint });
  }
}

/** The password for tools, for the server, and for the exporter where there is one. */
function secretFiles({ engine, metrics, tls }: ServerArgs): Record<string, (password: string) => string> {
  return {
    [PASSWORD_FILE]: (password) => password,
    [PASSWORD_CONFIG]: (password) => passwordConfig(password, directiveEngine(engine)),
    ...(metrics === undefined ? {} : { [EXPORTER_FILE]: (password: string) => exporterPasswords(password, tls) }),
  };
}

/** Gives every pod its name, ready or not: nodes that have yet to meet find each other by it. */
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
        ports: ports.map((each) => port(each === BUS_PORT ? "bus" : "valkey", each)),
      },
    },
    context.options,
  );
}

export function createClientService(context: DeploymentContext): k8s.core.v1.Service {
  const { names } = context;
  return new k8s.core.v1.Service(
    names.client,
    {
      metadata: { ...objectMetadata(context, names.client, "client"), annotations: AWAIT_CREATION_ONLY },
      spec: { selector: selectorLabels(context.deployment), ports: [port("valkey", CLIENT_PORT)] },
    },
    context.options,
  );
}

/** The pods ask nothing of Kubernetes, so their account opens nothing. */
export function createServiceAccount(context: DeploymentContext): k8s.core.v1.ServiceAccount {
  const name = context.names.serviceAccount;
  return new k8s.core.v1.ServiceAccount(
    name,
    { metadata: objectMetadata(context, name), automountServiceAccountToken: false },
    context.options,
  );
}

/** One pod at a time: a primary and its replica never leave together. */
export function createDisruptionBudget(context: DeploymentContext): k8s.policy.v1.PodDisruptionBudget {
  const name = context.names.disruptionBudget;
  return new k8s.policy.v1.PodDisruptionBudget(
    name,
    {
      metadata: objectMetadata(context, name),
      spec: { maxUnavailable: 1, selector: { matchLabels: selectorLabels(context.deployment) } },
    },
    context.options,
  );
}

/** Its updates go one pod at a time. @param keepsData whether each pod has a volume */
export function createStatefulSet(
  context: DeploymentContext,
  nodes: number,
  template: k8s.types.input.core.v1.PodTemplateSpec,
  needed: pulumi.Resource[],
  keepsData = true,
): void {
  const { deployment, names, args, options } = context;
  new k8s.apps.v1.StatefulSet(
    names.statefulSet,
    {
      metadata: { ...objectMetadata(context, names.statefulSet), annotations: AWAIT_CREATION_ONLY },
      spec: {
        serviceName: names.headless,
        replicas: nodes,
        // All start at once, and come back at once: none of them waits for another.
        podManagementPolicy: "Parallel",
        updateStrategy: { type: "RollingUpdate" },
        selector: { matchLabels: selectorLabels(deployment) },
        template,
        volumeClaimTemplates: keepsData ? [dataVolume(context)] : [],
        // A node that is scaled away was emptied and forgotten: with its volume it would come back as somebody nobody knows.
        persistentVolumeClaimRetentionPolicy: {
          whenDeleted: args.storage.onDestroy === "keep" ? "Retain" : "Delete",
          whenScaled: "Delete",
        },
      },
    },
    { ...options, dependsOn: needed },
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

function port(name: string, number: number): k8s.types.input.core.v1.ServicePort {
  return { name, port: number, targetPort: name };
}
