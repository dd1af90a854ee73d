/** The HAProxy pods in front of the primary. */
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checksum } from "../../../lib/checksum";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import type { DeploymentContext } from "../deployment-context";
import { ENGINE_ANNOTATIONS } from "../deployment-context";
import { createConfigMap } from "../files";
import * as k8s from "../kubernetes-sdk";
import { CLIENT_PORT, PROXY_STATUS_PORT } from "../layout";
import { proxyLabels } from "../names";
import { PROXY_IMAGE } from "../../../platforms/kubernetes/default-images";
import { pullPolicy } from "../pods/image";
import { podBasics } from "../pods/pod-basics";
import { CONTAINER_SECURITY_CONTEXT } from "../pods/security-context";
import { FAILOVER_RESOURCES, PROXY_COUNT } from "../pods/sidecar-resources";
import { passwordVolume, secretMounts, tlsVolumes } from "../pods/pod-volumes";
import { createSupportBudget } from "./support-budget";
import { PROXY_CONFIG_FILE, proxyFiles } from "./proxy-config";

const CONFIG_DIRECTORY = "/valkey/proxy";

/** Seconds for which a stopping proxy still accepts connections. */
const LEAVE_SECONDS = 5;

/**
 * Creates the proxies in front of the primary.
 * @param nodes number of servers, including the primary
 * @param secret Secret with the password, without which proxies cannot start
 */
export function createProxies(
  context: DeploymentContext,
  nodes: number,
  { count, downAfterMs }: SentinelSettings,
  secret: k8s.core.v1.SecretPatch,
): k8s.apps.v1.Deployment {
  const { deployment, names, options } = context;
  const labels = proxyLabels(deployment);
  const name = names.proxy;
  const metadata = createSupportBudget(context, { name, labels });
  const { tls } = context.args;
  const texts = pulumi
    .all([
      podHosts(context, names.statefulSet, names.headless, nodes),
      podHosts(context, names.sentinel, names.sentinel, count),
    ])
    .apply(([servers, sentinels]) =>
      proxyFiles({ deployment, servers, sentinels, downAfterMs, tls: tls !== undefined }),
    );
  const files = createConfigMap(name, metadata, texts, options);
  return new k8s.apps.v1.Deployment(
    name,
    {
      // Pulumi waits until a proxy is ready. Services route clients to the proxies only after that.
      metadata: { ...metadata, annotations: { ...ENGINE_ANNOTATIONS, "pulumi.com/waitFor": "condition=Available" } },
      spec: {
        replicas: PROXY_COUNT,
        // An update never starts a third proxy. If proxies must not share a machine, a third proxy would need a third
        // machine.
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
        selector: { matchLabels: labels },
        template: {
          metadata: {
            labels,
            annotations: { "checksum/config": texts.apply((each) => checksum(Object.values(each).join(""))) },
          },
          spec: podSpec(context, labels),
        },
      },
    },
    pulumi.mergeOptions(options, { dependsOn: [files, secret] }),
  );
}

/** DNS names of the pods of a StatefulSet. */
function podHosts(
  { args }: DeploymentContext,
  statefulSet: string,
  service: string,
  count: number,
): pulumi.Output<string[]> {
  const clusterDomain = args.clusterDomain ?? CLUSTER_DOMAIN;
  return pulumi.output(args.namespace).apply((namespace) => {
    const suffix = `${service}.${namespace}.svc.${clusterDomain}`;
    return Array.from({ length: count }, (_, index) => `${statefulSet}-${index}.${suffix}`);
  });
}

function podSpec(context: DeploymentContext, labels: Record<string, string>): types.input.core.v1.PodSpec {
  const { names, args } = context;
  // Only the first zones are used, one for each proxy, so that each proxy is in its own zone.
  const placement = { ...args.placement, zones: args.placement.zones.slice(0, PROXY_COUNT) };
  return {
    ...podBasics(context, { labels, placement }),
    containers: [proxyContainer(context)],
    volumes: [{ name: "config", configMap: { name: names.proxy } }, passwordVolume(names), ...tlsVolumes(args.tls)],
  };
}

function proxyContainer({ args }: DeploymentContext): types.input.core.v1.Container {
  const image = args.proxyImage ?? PROXY_IMAGE;
  return {
    name: "proxy",
    image,
    imagePullPolicy: pullPolicy(image, args.imagePullPolicy),
    args: ["haproxy", "-W", "-db", "-f", `${CONFIG_DIRECTORY}/${PROXY_CONFIG_FILE}`],
    ports: [{ name: "valkey", containerPort: CLIENT_PORT }],
    resources: FAILOVER_RESOURCES,
    securityContext: CONTAINER_SECURITY_CONTEXT,
    // A proxy stays ready when it has found a primary once: without a primary, no other proxy could serve its clients.
    readinessProbe: { httpGet: { path: "/", port: PROXY_STATUS_PORT }, periodSeconds: 1 },
    livenessProbe: { tcpSocket: { port: "valkey" }, periodSeconds: 10 },
    // HAProxy stops listening as soon as it gets the signal to stop. Machines forward clients to this proxy for a
    // moment longer, until they know that the Service no longer routes to it.
    lifecycle: { preStop: { exec: { command: ["sleep", String(LEAVE_SECONDS)] } } },
    volumeMounts: [{ name: "config", mountPath: CONFIG_DIRECTORY, readOnly: true }, ...secretMounts(args.tls)],
  };
}
