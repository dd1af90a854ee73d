/**
 * What lets replication on Kubernetes fail over: Sentinels over the zones, servers that ask them whom to follow before they start, and a
 * Service whose proxies send everything to whoever is the primary.
 */
import * as k8s from "../kubernetes-sdk";
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { objectMetadata, AWAIT_CREATION_ONLY } from "../deployment-context";
import { sidecarResources, INIT_RESOURCES, PROXY_COUNT, FAILOVER_RESOURCES } from "../pods/sidecar-resources";
import { pullPolicy } from "../pods/image";
import { CLIENT_PORT, SCRIPTS_DIRECTORY, SECRET_DIRECTORY, SENTINEL_PORT } from "../layout";
import { sentinelLabels, writeProxyLabels } from "../names";
import { createFailoverPolicies } from "../network-policy";
import { podBasics } from "../pods/pod-basics";
import { CONTAINER_SECURITY_CONTEXT } from "../pods/security-context";
import { scriptCommand } from "../scripts";
import { PASSWORD_FILE } from "../server-config";
import { scriptEnvironment } from "../pods/volumes";
import { writeProxyConfig } from "./write-proxy";

/** Of the proxies in front of the primary. */
export const PROXY_IMAGE = "docker.io/library/haproxy:3.2.4-alpine";
const CONFIG_FILE = "haproxy.cfg";

/** Creates all of it. @param nodes servers, the primary among them */
export function createSentinels(context: DeploymentContext, settings: SentinelSettings, nodes: number): void {
  createFailoverPolicies(context);
  createSentinelSet(context, settings);
  createWriteProxies(context, nodes);
}

/** What scripts are told of this deployment's names, see sentinel.sh. */
function environment(
  { deployment, names, args }: DeploymentContext,
  { count, quorum, downAfterMs, failoverTimeoutMs }: SentinelSettings,
): types.input.core.v1.EnvVar[] {
  const suffix = (service: string): pulumi.Output<string> =>
    pulumi.interpolate`.${service}.${args.namespace}.svc.${args.clusterDomain ?? "cluster.local"}`;
  const plain: Record<string, pulumi.Input<string>> = {
    ...scriptEnvironment(undefined),
    DEPLOYMENT: deployment,
    SERVERS: suffix(names.headless),
    SENTINELS: suffix(names.sentinel),
    COUNT: String(count),
    QUORUM: String(quorum),
    DOWN_AFTER: String(downAfterMs),
    FAILOVER_TIMEOUT: String(failoverTimeoutMs),
  };
  return [
    ...Object.entries(plain).map(([name, value]) => ({ name, value })),
    { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ];
}

/** An init container of the chart's servers, after the chart's own: pod 0 leads only when Sentinels say so. */
export function findPrimaryContainer(
  context: DeploymentContext,
  settings: SentinelSettings,
): types.input.core.v1.Container {
  const { names, args } = context;
  return {
    name: "follow",
    image: args.image,
    imagePullPolicy: pullPolicy(args.image, args.imagePullPolicy),
    command: scriptCommand("sentinel.sh", "follow"),
    env: [...environment(context, settings), { name: "CONFIG", value: "/data/conf/valkey.conf" }],
    resources: sidecarResources(args.resources, INIT_RESOURCES),
    securityContext: CONTAINER_SECURITY_CONTEXT,
    // By the chart's names of them.
    volumeMounts: [
      { name: "valkey-data", mountPath: "/data" },
      { name: `${names.scripts}-valkey`, mountPath: SCRIPTS_DIRECTORY, readOnly: true },
      { name: `${names.secret}-valkey`, mountPath: SECRET_DIRECTORY, readOnly: true },
    ],
  };
}

interface Beside {
  /** Of its objects. */
  readonly name: string;
  /** Of its pods. */
  readonly labels: Record<string, string>;
  readonly service: types.input.core.v1.ServiceSpec;
}

/** A Service and a disruption budget, one pod at a time, for pods beside the servers. @returns what else of theirs has for its metadata */
function createService(context: DeploymentContext, { name, labels, service }: Beside): types.input.meta.v1.ObjectMeta {
  const { options } = context;
  const meta = { ...objectMetadata(context, name), labels: { ...labels, "app.kubernetes.io/managed-by": "pulumi" } };
  new k8s.core.v1.Service(
    name,
    { metadata: { ...meta, annotations: AWAIT_CREATION_ONLY }, spec: { ...service, selector: labels } },
    options,
  );
  new k8s.policy.v1.PodDisruptionBudget(
    name,
    { metadata: meta, spec: { maxUnavailable: 1, selector: { matchLabels: labels } } },
    options,
  );
  return meta;
}

function createSentinelSet(context: DeploymentContext, settings: SentinelSettings): void {
  const { deployment, names, args, options } = context;
  const labels = sentinelLabels(deployment);
  const name = names.sentinel;
  const meta = createService(context, {
    name,
    labels,
    service: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      ports: [{ name: "sentinel", port: SENTINEL_PORT, targetPort: "sentinel" }],
    },
  });
  const ping: types.input.core.v1.Probe = {
    exec: { command: ["valkey-cli", "-p", String(SENTINEL_PORT), "-t", "5", "PING"] },
    periodSeconds: 10,
    timeoutSeconds: 10,
    failureThreshold: 3,
  };
  new k8s.apps.v1.StatefulSet(
    name,
    {
      metadata: { ...meta, annotations: AWAIT_CREATION_ONLY },
      spec: {
        serviceName: name,
        replicas: settings.count,
        podManagementPolicy: "Parallel",
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            ...podBasics(context, { graceSeconds: 5, labels }),
            containers: [
              {
                name: "sentinel",
                image: args.image,
                imagePullPolicy: pullPolicy(args.image, args.imagePullPolicy),
                command: scriptCommand("sentinel.sh", "watch"),
                env: environment(context, settings),
                ports: [{ name: "sentinel", containerPort: SENTINEL_PORT }],
                resources: FAILOVER_RESOURCES,
                securityContext: CONTAINER_SECURITY_CONTEXT,
                livenessProbe: { ...ping, initialDelaySeconds: 10 },
                readinessProbe: ping,
                volumeMounts: [
                  { name: "data", mountPath: "/data" },
                  { name: "scripts", mountPath: SCRIPTS_DIRECTORY, readOnly: true },
                  { name: "secret", mountPath: SECRET_DIRECTORY, readOnly: true },
                ],
              },
            ],
            volumes: [
              { name: "data", emptyDir: {} },
              { name: "scripts", configMap: { name: names.scripts } },
              { name: "secret", secret: { secretName: names.secret, defaultMode: 0o440 } },
            ],
          },
        },
      },
    },
    options,
  );
}

function createWriteProxies(context: DeploymentContext, nodes: number): void {
  const { deployment, names, args, options } = context;
  const labels = writeProxyLabels(deployment);
  const name = names.writeProxy;
  const meta = createService(context, {
    name,
    labels,
    service: { ports: [{ name: "valkey", port: CLIENT_PORT, targetPort: "valkey" }] },
  });
  const hosts = pulumi
    .output(args.namespace)
    .apply((namespace) =>
      Array.from(
        { length: nodes },
        (_, index) =>
          `${deployment}-${index}.${names.headless}.${namespace}.svc.${args.clusterDomain ?? "cluster.local"}`,
      ),
    );
  new k8s.core.v1.ConfigMap(name, { metadata: meta, data: { [CONFIG_FILE]: hosts.apply(writeProxyConfig) } }, options);
  const probe: types.input.core.v1.Probe = { tcpSocket: { port: "valkey" }, periodSeconds: 5 };
  new k8s.apps.v1.Deployment(
    name,
    {
      metadata: { ...meta, annotations: AWAIT_CREATION_ONLY },
      spec: {
        replicas: PROXY_COUNT,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            ...podBasics(context, {
              labels,
              placement: { ...args.placement, zones: args.placement.zones.slice(0, PROXY_COUNT) },
            }),
            containers: [
              {
                name: "proxy",
                image: PROXY_IMAGE,
                imagePullPolicy: pullPolicy(PROXY_IMAGE, args.imagePullPolicy),
                args: ["haproxy", "-W", "-db", "-f", `/valkey/proxy/${CONFIG_FILE}`],
                env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: names.secret, key: PASSWORD_FILE } } }],
                ports: [{ name: "valkey", containerPort: CLIENT_PORT }],
                resources: FAILOVER_RESOURCES,
                securityContext: CONTAINER_SECURITY_CONTEXT,
                readinessProbe: probe,
                livenessProbe: { ...probe, periodSeconds: 10 },
                volumeMounts: [{ name: "config", mountPath: "/valkey/proxy", readOnly: true }],
              },
            ],
            volumes: [{ name: "config", configMap: { name } }],
          },
        },
      },
    },
    options,
  );
}
