/** The pod of a cluster node. Pure. */
import type { types } from "@pulumi/kubernetes";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/cluster-domain";
import { supportsZoneDirective } from "../../../valkey/availability-zone";
import { tagOf } from "../../../valkey/version";
import type { ServerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { directiveEngine, ENGINE_PROGRAMS } from "../engines";
import { pullPolicy } from "./image";
import {
  ANNOUNCED_DIRECTORY,
  ASK_PATIENCE_SECONDS,
  ASK_SECONDS,
  BUS_PORT,
  CLIENT_PORT,
  CONFIG_DIRECTORY,
  DATA_DIRECTORY,
  DATA_VOLUME,
  TERMINATION_GRACE_SECONDS,
  HAND_OVER_SECONDS,
  SERVER_CONTAINER,
} from "../layout";
import { exporterContainer } from "../metrics";
import type { ObjectNames } from "../names";
import { objectLabels } from "../names";
import { podBasics } from "./pod-basics";
import { livenessProbe, readinessProbe, startupProbe } from "./probes";
import { scriptCommand } from "../scripts";
import { CONTAINER_SECURITY_CONTEXT } from "./security-context";
import { checksum, TLS_FILES } from "../server-config";
import { scriptEnvironment, serverMounts, podVolumes } from "./volumes";

type PodTemplate = types.input.core.v1.PodTemplateSpec;
type Container = types.input.core.v1.Container;

/** @param config the text of valkey.conf without what running servers take; another text restarts the pods one by one */
export function clusterPod(context: DeploymentContext, config: string): PodTemplate {
  const { deployment, names, args } = context;
  const { metrics, tls } = args;
  return {
    metadata: { labels: objectLabels(deployment), annotations: { "checksum/config": checksum(config) } },
    spec: {
      ...podBasics(context, { graceSeconds: TERMINATION_GRACE_SECONDS }),
      containers: [serverContainer(names, args), ...(metrics === undefined ? [] : [exporterContainer(metrics, args)])],
      volumes: [
        ...podVolumes(names, tls),
        // Always, so that clients outside restart nothing.
        { name: "announced", configMap: { name: names.announced, optional: true } },
        ...(args.storage.ephemeral === true ? [{ name: DATA_VOLUME, emptyDir: {} }] : []),
      ],
    },
  };
}

function serverContainer(
  names: ObjectNames,
  { engine, image, imagePullPolicy, resources, tls, clusterDomain }: ServerArgs,
): Container {
  const authority = tls === undefined ? undefined : TLS_FILES.authority;
  const hostIn = (service: string): string => `${service}.$(POD_NAMESPACE).svc.${clusterDomain ?? CLUSTER_DOMAIN}`;
  return {
    name: SERVER_CONTAINER,
    image,
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    securityContext: CONTAINER_SECURITY_CONTEXT,
    command: scriptCommand("start-cluster.sh", String(ASK_SECONDS), String(ASK_PATIENCE_SECONDS)),
    args: [
      ENGINE_PROGRAMS[directiveEngine(engine)].server,
      `${CONFIG_DIRECTORY}/valkey.conf`,
      // A server announces the address in its nodes.conf, which is old after a restart, unless the command line has one.
      ...["--cluster-announce-ip", "$(POD_IP)"],
      ...["--cluster-announce-hostname", `$(POD_NAME).${hostIn(names.headless)}`],
      ...(tellsZone(engine, image) ? ["--availability-zone", "$(ZONE)"] : []),
      // A pattern may match nothing.
      ...(directiveEngine(engine) === "valkey" ? ["--include", `${ANNOUNCED_DIRECTORY}/$(POD_NAME).conf*`] : []),
    ],
    env: [
      fromPod("POD_NAME", "metadata.name"),
      fromPod("POD_NAMESPACE", "metadata.namespace"),
      fromPod("POD_IP", "status.podIP"),
      fromPod("HOST_IP", "status.hostIP"),
      // Kubernetes copies this label from the machine to the pod from 1.35 on. It is empty before, and `up` tells the server.
      fromPod("ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
      { name: "SERVICE", value: hostIn(names.client) },
      ...Object.entries(scriptEnvironment(authority, engine)).map(([name, value]) => ({ name, value })),
    ],
    ports: [
      { name: "valkey", containerPort: CLIENT_PORT },
      { name: "bus", containerPort: BUS_PORT },
    ],
    resources,
    startupProbe: startupProbe(tls !== undefined, directiveEngine(engine)),
    livenessProbe: livenessProbe(tls !== undefined, directiveEngine(engine)),
    readinessProbe: readinessProbe("cluster"),
    lifecycle: { preStop: { exec: { command: scriptCommand("hand-over.sh", String(HAND_OVER_SECONDS)) } } },
    volumeMounts: [
      { name: DATA_VOLUME, mountPath: DATA_DIRECTORY },
      { name: "announced", mountPath: ANNOUNCED_DIRECTORY, readOnly: true },
      ...serverMounts(tls),
    ],
  };
}

/** Whether the server is known to have the directive: it does not start with an unknown one. */
function tellsZone(engine: ServerArgs["engine"], image: string): boolean {
  return directiveEngine(engine) === "valkey" && supportsZoneDirective(tagOf(image) ?? "");
}

function fromPod(name: string, fieldPath: string): types.input.core.v1.EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
