import type { types } from "@pulumi/kubernetes";
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import { type DeploymentContext, ENGINE_ANNOTATIONS } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";
import { DATA_DIRECTORY, PRIMARY_FILE, SENTINEL_PORT } from "../layout";
import { sentinelLabels } from "../names";
import { podBasics, pullPolicy, CONTAINER_SECURITY_CONTEXT } from "../pods/pod-basics";
import { FAILOVER_RESOURCES } from "../pods/sidecar-resources";
import { asEnvironment, hostInPod, POD_VARIABLES } from "../pods/server-pod";
import { podVolumes, primaryVolume, scriptEnvironment, serverMounts } from "../pods/pod-volumes";
import { scriptCommand } from "../scripts";
import { TLS_FILES } from "../server-config";
import { sentinelVariables } from "../pods/replication-role";
import { createSupportBudget } from "./support-budget";

const GRACE_SECONDS = 5;

const STARTUP_SECONDS = 60;

/** Any certificate, because a restart would not make an invalid certificate valid. */
function ping(tls: boolean): types.input.core.v1.Probe {
  const secure = tls ? ["--tls", "--insecure"] : [];
  return {
    exec: { command: ["valkey-cli", "-p", String(SENTINEL_PORT), "-t", "5", ...secure, "PING"] },
    periodSeconds: 15,
    timeoutSeconds: 10,
    failureThreshold: 2,
  };
}

export function createSentinelPods(context: DeploymentContext, settings: SentinelSettings): void {
  const { deployment, names, options } = context;
  const labels = sentinelLabels(deployment);
  const name = names.sentinel;
  const metadata = createSupportBudget(context, { name, labels });
  new k8s.core.v1.Service(
    name,
    {
      metadata: { ...metadata, annotations: ENGINE_ANNOTATIONS },
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector: labels,
        ports: [{ name: "sentinel", port: SENTINEL_PORT, targetPort: "sentinel" }],
      },
    },
    options,
  );
  new k8s.apps.v1.StatefulSet(
    name,
    {
      metadata: { ...metadata, annotations: ENGINE_ANNOTATIONS },
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
  const { names, args } = context;
  return {
    ...podBasics(context, { graceSeconds: GRACE_SECONDS, labels }),
    containers: [sentinelContainer(context, settings)],
    volumes: [{ name: "data", emptyDir: {} }, primaryVolume(names).volume, ...podVolumes(names, args.tls)],
  };
}

function sentinelContainer(context: DeploymentContext, settings: SentinelSettings): types.input.core.v1.Container {
  const { deployment, names, args } = context;
  const { image, imagePullPolicy, tls } = args;
  const variables = {
    DEPLOYMENT: deployment,
    SERVERS: `.${hostInPod(names.headless, context)}`,
    PRIMARY_FILE,
    ...sentinelVariables(context, settings),
    ...scriptEnvironment(tls === undefined ? undefined : TLS_FILES.authority),
  };
  const probe = ping(tls !== undefined);
  const { volume, directory } = primaryVolume(names);
  return {
    name: "sentinel",
    image,
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    command: scriptCommand("sentinel.sh"),
    env: [...POD_VARIABLES, ...asEnvironment(variables)],
    ports: [{ name: "sentinel", containerPort: SENTINEL_PORT }],
    resources: FAILOVER_RESOURCES,
    securityContext: CONTAINER_SECURITY_CONTEXT,
    startupProbe: { tcpSocket: { port: "sentinel" }, periodSeconds: 1, failureThreshold: STARTUP_SECONDS },
    livenessProbe: probe,
    readinessProbe: { ...probe, exec: { command: scriptCommand("ready-sentinel.sh") } },
    volumeMounts: [
      { name: "data", mountPath: DATA_DIRECTORY },
      { name: volume.name, mountPath: directory, readOnly: true },
      ...serverMounts(tls),
    ],
  };
}
