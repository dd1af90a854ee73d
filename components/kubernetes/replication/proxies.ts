/** The HAProxy pods in front of the primary, and their configuration. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checksum } from "../../../lib/checksum";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import { type DeploymentContext, ENGINE_ANNOTATIONS } from "../deployment-context";
import { createConfigMap } from "../files";
import * as k8s from "../kubernetes-sdk";
import { CLIENT_PORT, PROXY_STATUS_PORT, SENTINEL_PORT } from "../layout";
import { proxyLabels } from "../names";
import { PROXY_IMAGE } from "../../../platforms/kubernetes/default-images";
import { podBasics, pullPolicy, CONTAINER_SECURITY_CONTEXT } from "../pods/pod-basics";
import { FAILOVER_RESOURCES, PROXY_COUNT } from "../pods/sidecar-resources";
import { passwordVolume, secretMounts, tlsVolumes } from "../pods/pod-volumes";
import { createSupportBudget } from "./support-budget";
import { TLS_FILES } from "../server-config";

const readFile = (name: string): string => readFileSync(join(__dirname, name), "utf8");
const PROXY_CONFIG_FILE = "haproxy.cfg";
const CONFIG_TEMPLATE = readFile(PROXY_CONFIG_FILE);
const SCRIPTS = Object.fromEntries(
  ["follow-password.lua", "follow-sentinels.lua"].map((name) => [name, readFile(name)]),
);

/** HAProxy also limits connection and TLS handshake of a check to it, which take over 250 ms on a busy machine. */
const INTERVAL_MS = 400;
/** Lowest and highest number of failed checks after which HAProxy sends no clients to a server any more. */
const [FEWEST_CHECKS, MOST_CHECKS] = [4, 16];

/** Options of a server whose address HAProxy looks up again and again. */
const RESOLVED = "resolvers cluster resolve-prefer ipv4 init-addr none";

const CONFIG_DIRECTORY = "/valkey/proxy";

const LEAVE_SECONDS = 5;

/** @param nodes servers, including the primary @param secret with the password, without which proxies cannot start */
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

interface ProxyPlan {
  /** Name of the deployment, under which Sentinels know the primary. */
  readonly deployment: string;
  /** DNS names of the servers; their addresses may change. */
  readonly servers: readonly string[];
  readonly sentinels: readonly string[];
  /** Time without an answer after which Sentinels replace the primary, milliseconds. */
  readonly downAfterMs: number;
  /** Clients' connections are passed through; the proxy's own connections check certificates and names. */
  readonly tls: boolean;
}

/**
 * Clients reach only the server that Sentinels name (follow-sentinels.lua), while it says that it is the primary. When
 * it has answered several times that it is a replica, HAProxy closes their connections, and they reach the new primary.
 * - `weight 0`: no clients before Sentinels have named a server; checks go on.
 * - `inter` and `fall`: clients stay about as long as Sentinels wait.
 * - `fastinter 10ms`: answers of a replica then take 0.2 to 0.4 s.
 * - `timeout check 2s`: on a busy machine a check with a TLS handshake takes long, and several failed checks cut all
 *   clients. Sentinels lead clients away from a frozen primary.
 * - `redispatch`: clients get the new primary at once when the former one refuses.
 * - `tcp-check connect default`: the options of the server's line, also for TLS.
 * - `min-recv 64`: the role is in the first 64 bytes; else the check of a replica lasts until its time limit.
 * - `init-state down`: no clients before a restarted pod has answered.
 * - `no strict-limits`: starts even if the machine allows fewer than two open files for each connection.
 * Passwords come from files, so that a new one needs no restart; the control socket has no file, so only the pod reaches it.
 */
export function proxyFiles({
  deployment,
  servers,
  sentinels,
  downAfterMs,
  tls,
}: ProxyPlan): Readonly<Record<string, string>> {
  const fall = Math.min(MOST_CHECKS, Math.max(FEWEST_CHECKS, Math.round(downAfterMs / INTERVAL_MS)));
  const verified = (host: string): string => `verify required ca-file ${TLS_FILES.authority} verifyhost ${host}`;
  const serverLine = (host: string): string =>
    `  server ${host} ${host}:${CLIENT_PORT} check${tls ? ` check-ssl check-sni ${host} ${verified(host)}` : ""}\n`;
  const sentinelSection = (host: string, index: number): string =>
    [
      `\nlisten sentinel-${index}`,
      `  bind abns@sentinel-${index}`,
      `  server sentinel ${host}:${SENTINEL_PORT}${tls ? ` ssl sni str(${host}) ${verified(host)}` : ""} ${RESOLVED}\n`,
    ].join("\n");
  const values: Readonly<Record<string, string | number>> = {
    ...{ DEPLOYMENT: deployment, COUNT: sentinels.length, STATUS_PORT: PROXY_STATUS_PORT },
    ...{ INTERVAL: INTERVAL_MS, FALL: fall, RESOLVED },
  };
  const config = CONFIG_TEMPLATE.replace(/@(\w+)@/g, (_word, name: string) => String(values[name]));
  return {
    [PROXY_CONFIG_FILE]: config + servers.map(serverLine).join("") + sentinels.map(sentinelSection).join(""),
    ...SCRIPTS,
  };
}
