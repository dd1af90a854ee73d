/** The Sentinels of a deployment, spread over its zones. */
import type { types } from "@pulumi/kubernetes";
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { AWAIT_CREATION_ONLY } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";
import { DATA_DIRECTORY, SCRIPTS_DIRECTORY, SECRET_DIRECTORY, SENTINEL_PORT } from "../layout";
import { sentinelLabels } from "../names";
import { pullPolicy } from "../pods/image";
import { podBasics } from "../pods/pod-basics";
import { CONTAINER_SECURITY_CONTEXT } from "../pods/security-context";
import { FAILOVER_RESOURCES } from "../pods/sidecar-resources";
import { SECRET_MODE } from "../pods/volumes";
import { scriptCommand } from "../scripts";
import { sentinelEnvironment } from "./sentinel-environment";
import { createSupportService } from "./support-service";

/** Seconds that a Sentinel has to stop. */
const GRACE_SECONDS = 5;

const PING: types.input.core.v1.Probe = {
  exec: { command: ["valkey-cli", "-p", String(SENTINEL_PORT), "-t", "5", "PING"] },
  periodSeconds: 10,
  timeoutSeconds: 10,
  failureThreshold: 3,
};

export function createSentinelPods(context: DeploymentContext, settings: SentinelSettings): void {
  const { deployment, names, options } = context;
  const labels = sentinelLabels(deployment);
  const name = names.sentinel;
  const metadata = createSupportService(context, {
    name,
    labels,
    service: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      ports: [{ name: "sentinel", port: SENTINEL_PORT, targetPort: "sentinel" }],
    },
  });
  new k8s.apps.v1.StatefulSet(
    name,
    {
      metadata: { ...metadata, annotations: AWAIT_CREATION_ONLY },
      spec: {
        serviceName: name,
        replicas: settings.count,
        podManagementPolicy: "Parallel",
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(context, settings, labels) },
      },
    },
    options,
  );
}

function podSpec(
  context: DeploymentContext,
  settings: SentinelSettings,
  labels: Record<string, string>,
): types.input.core.v1.PodSpec {
  const { names } = context;
  return {
    ...podBasics(context, { graceSeconds: GRACE_SECONDS, labels }),
    containers: [sentinelContainer(context, settings)],
    volumes: [
      { name: "data", emptyDir: {} },
      { name: "scripts", configMap: { name: names.scripts } },
      { name: "secret", secret: { secretName: names.secret, defaultMode: SECRET_MODE } },
    ],
  };
}

function sentinelContainer(context: DeploymentContext, settings: SentinelSettings): types.input.core.v1.Container {
  const { image, imagePullPolicy } = context.args;
  return {
    name: "sentinel",
    image,
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    command: scriptCommand("sentinel.sh", "watch"),
    env: sentinelEnvironment(context, settings),
    ports: [{ name: "sentinel", containerPort: SENTINEL_PORT }],
    resources: FAILOVER_RESOURCES,
    securityContext: CONTAINER_SECURITY_CONTEXT,
    livenessProbe: { ...PING, initialDelaySeconds: 10 },
    readinessProbe: PING,
    volumeMounts: [
      { name: "data", mountPath: DATA_DIRECTORY },
      { name: "scripts", mountPath: SCRIPTS_DIRECTORY, readOnly: true },
      { name: "secret", mountPath: SECRET_DIRECTORY, readOnly: true },
    ],
  };
}
