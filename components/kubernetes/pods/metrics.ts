/** A sidecar of each server, a Service and, if `serviceMonitor` is set, a ServiceMonitor. */
import { compact } from "../../../lib/compact";
import * as k8s from "../kubernetes-sdk";
import type { Metrics } from "../../../model/pods";
import type { ServerArgs, Tls } from "../arguments";
import { type DeploymentContext, objectMetadata } from "../deployment-context";
import { sidecarResources, EXPORTER_RESOURCES } from "./sidecar-resources";
import { EXPORTER_IMAGE } from "../../../platforms/kubernetes/default-images";
import { pullPolicy, CONTAINER_SECURITY_CONTEXT } from "./pod-basics";
import { CLIENT_PORT, METRICS_PORT, SECRET_DIRECTORY } from "../layout";
import { selectorLabels } from "../names";
import { TLS_FILES } from "../server-config";
import { secretMounts } from "./pod-volumes";

/** A JSON object that contains a password for each server's address. */
export const EXPORTER_FILE = "exporter.json";

const address = (tls: Tls | undefined): string =>
  `${tls === undefined ? "redis" : "rediss"}://localhost:${CLIENT_PORT}`;

export function exporterPasswords(password: string, tls: Tls | undefined): string {
  return JSON.stringify({ [address(tls)]: password });
}

export function exporterContainer(
  metrics: Metrics,
  { imagePullPolicy, tls, resources }: Pick<ServerArgs, "imagePullPolicy" | "tls" | "resources">,
): k8s.types.input.core.v1.Container {
  const image = metrics.image ?? EXPORTER_IMAGE;
  const probe = { httpGet: { path: "/health", port: "metrics" }, periodSeconds: 10, timeoutSeconds: 5 };
  return {
    name: "metrics",
    image,
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    securityContext: CONTAINER_SECURITY_CONTEXT,
    ports: [{ name: "metrics", containerPort: METRICS_PORT }],
    env: compact([
      { name: "REDIS_ADDR", value: address(tls) },
      { name: "REDIS_PASSWORD_FILE", value: `${SECRET_DIRECTORY}/${EXPORTER_FILE}` },
      tls === undefined ? undefined : { name: "REDIS_EXPORTER_TLS_CA_CERT_FILE", value: TLS_FILES.authority },
    ]),
    readinessProbe: probe,
    livenessProbe: { ...probe, failureThreshold: 6 },
    resources: sidecarResources(resources, EXPORTER_RESOURCES),
    volumeMounts: secretMounts(tls),
  };
}

export function createMetrics(context: DeploymentContext): void {
  const { deployment, names, args, options } = context;
  if (args.metrics === undefined) return;
  const { labels, ...own } = objectMetadata(context, names.metrics, "metrics");
  new k8s.core.v1.Service(
    names.metrics,
    {
      metadata: { ...own, labels },
      spec: {
        clusterIP: "None",
        selector: selectorLabels(deployment),
        ports: [{ name: "metrics", port: METRICS_PORT, targetPort: "metrics" }],
        // Servers that are not ready are included, because their metrics are needed most.
        publishNotReadyAddresses: true,
      },
    },
    options,
  );
  if (args.metrics.serviceMonitor !== true) return;
  new k8s.apiextensions.CustomResource(
    names.metrics,
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata: { ...own, labels },
      spec: { selector: { matchLabels: labels }, endpoints: [{ port: "metrics", interval: "30s" }] },
    },
    options,
  );
}
