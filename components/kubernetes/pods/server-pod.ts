/** The pod of a server, of every topology and engine. What differs between them is its role. Pure. */
import type { types } from "@pulumi/kubernetes";
import { compact } from "../../../lib/compact";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import { supportsZoneDirective } from "../../../valkey/availability-zone";
import { tagOf } from "../../../valkey/settings/version";
import type { DeploymentContext } from "../deployment-context";
import { BUS_PORT, DATA_DIRECTORY, DATA_VOLUME, SERVER_CONTAINER, TERMINATION_GRACE_SECONDS } from "../layout";
import { exporterContainer } from "./metrics";
import { objectLabels } from "../names";
import { checksum, TLS_FILES } from "../server-config";
import { pullPolicy } from "./image";
import { podBasics } from "./pod-basics";
import { CONTAINER_SECURITY_CONTEXT } from "./security-context";
import { hasVolumes, podVolumes, scriptEnvironment, serverMounts } from "./volumes";

type Container = types.input.core.v1.Container;
type EnvVar = types.input.core.v1.EnvVar;

/** Part of a pod that depends on the topology and the engine. */
export interface ServerRole {
  /** Command line: a script that starts the server, and the server's own. */
  readonly command: readonly string[];
  /** Variables beside those of every server's scripts. They may refer to `$(POD_NAME)` and `$(POD_NAMESPACE)`. */
  readonly variables: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  readonly probes: Pick<Container, "startupProbe" | "livenessProbe" | "readinessProbe">;
  /** Script that runs before the server stops. @default none */
  readonly preStop?: readonly string[] | undefined;
  /** Volumes beside those of every server, with the directory of each. @default none */
  readonly volumes?: readonly { readonly volume: types.input.core.v1.Volume; readonly directory: string }[] | undefined;
}

/** @param config the text of valkey.conf without what running servers take; another text restarts the pods one by one */
export function serverPod(
  context: DeploymentContext,
  config: string,
  role: ServerRole,
): types.input.core.v1.PodTemplateSpec {
  const { deployment, names, args } = context;
  const { metrics, tls } = args;
  return {
    metadata: { labels: objectLabels(deployment), annotations: { "checksum/config": checksum(config) } },
    spec: {
      ...podBasics(context, { graceSeconds: TERMINATION_GRACE_SECONDS }),
      containers: compact([
        serverContainer(context, role),
        metrics === undefined ? undefined : exporterContainer(metrics, args),
      ]),
      volumes: compact([
        ...podVolumes(names, tls),
        ...(role.volumes ?? []).map(({ volume }) => volume),
        hasVolumes(args) ? undefined : { name: DATA_VOLUME, emptyDir: {} },
      ]),
    },
  };
}

function serverContainer(
  { args: { engine, image, imagePullPolicy, resources, tls } }: DeploymentContext,
  { command, variables, ports, probes, preStop, volumes = [] }: ServerRole,
): Container {
  const authority = tls === undefined ? undefined : TLS_FILES.authority;
  return {
    name: SERVER_CONTAINER,
    image,
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    securityContext: CONTAINER_SECURITY_CONTEXT,
    command: [...command],
    env: [...POD_VARIABLES, ...asEnvironment({ ...variables, ...scriptEnvironment(authority, engine) })],
    ports: ports.map((port) => ({ name: port === BUS_PORT ? "bus" : "valkey", containerPort: port })),
    resources,
    ...probes,
    ...(preStop === undefined ? {} : { lifecycle: { preStop: { exec: { command: [...preStop] } } } }),
    volumeMounts: [
      { name: DATA_VOLUME, mountPath: DATA_DIRECTORY },
      ...volumes.map(({ volume: { name }, directory }) => ({ name, mountPath: directory, readOnly: true })),
      ...serverMounts(tls),
    ],
  };
}

/** Variables that others refer to, so they come first. */
export const POD_VARIABLES: readonly EnvVar[] = [
  fromPod("POD_NAME", "metadata.name"),
  fromPod("POD_NAMESPACE", "metadata.namespace"),
  fromPod("POD_IP", "status.podIP"),
  fromPod("HOST_IP", "status.hostIP"),
  // Kubernetes copies this label from the machine to the pod from 1.35 on. It is empty before, and `up` tells the server.
  fromPod("ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
];

function fromPod(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

export function asEnvironment(variables: Readonly<Record<string, string>>): EnvVar[] {
  return Object.entries(variables).map(([name, value]) => ({ name, value }));
}

/** Host name of a Service, or with `$(POD_NAME).` before it of a pod, in a variable or an argument of a container. */
export function hostInPod(service: string, { args: { clusterDomain } }: DeploymentContext): string {
  return `${service}.$(POD_NAMESPACE).svc.${clusterDomain ?? CLUSTER_DOMAIN}`;
}

/** Directive that tells the server its zone, where it is known to have one: it does not start with an unknown one. */
export function zoneArguments({ args: { engine = "valkey", image } }: DeploymentContext): string[] {
  return engine === "valkey" && supportsZoneDirective(tagOf(image) ?? "") ? ["--availability-zone", "$(ZONE)"] : [];
}
