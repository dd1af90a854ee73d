import type { types } from "@pulumi/kubernetes";
import { compact } from "../../../lib/compact";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import { supportsZoneDirective } from "../../../valkey/availability-zone";
import { tagOf } from "../../../valkey/settings/version";
import type { DeploymentContext } from "../deployment-context";
import { BUS_PORT, DATA_DIRECTORY, DATA_VOLUME, SERVER_CONTAINER, TERMINATION_GRACE_SECONDS } from "../layout";
import { exporterContainer } from "./metrics";
import { objectLabels } from "../names";
import { checksum } from "../../../lib/checksum";
import { TLS_FILES } from "../server-config";
import { podBasics, pullPolicy, CONTAINER_SECURITY_CONTEXT } from "./pod-basics";
import { hasVolumes, podVolumes, scriptEnvironment, serverMounts } from "./pod-volumes";

type Container = types.input.core.v1.Container;
type EnvVar = types.input.core.v1.EnvVar;

export interface ServerRole {
  /** Command line: the start script, followed by the command line of the server. */
  readonly command: readonly string[];
  /** The additional variables may refer to `$(POD_NAME)` and `$(POD_NAMESPACE)`. */
  readonly variables: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  readonly probes: Pick<Container, "startupProbe" | "livenessProbe" | "readinessProbe">;
  /** Script that runs before the server stops. @default none */
  readonly preStop?: readonly string[] | undefined;
  /** Volumes in addition to the volumes that every server has, each with its mount directory. @default none */
  readonly volumes?: readonly { readonly volume: types.input.core.v1.Volume; readonly directory: string }[] | undefined;
}

/** @param config valkey.conf without what running servers accept; a change restarts the pods one by one */
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

/** In the list of variables, they must come before those other variables. */
export const POD_VARIABLES: readonly EnvVar[] = [
  fromPod("POD_NAME", "metadata.name"),
  fromPod("POD_NAMESPACE", "metadata.namespace"),
  fromPod("POD_IP", "status.podIP"),
  fromPod("HOST_IP", "status.hostIP"),
  // Since version 1.35 Kubernetes copies this label from the machine to the pod. In earlier versions it is empty, and
  // `up` sets the zone on the running server.
  fromPod("ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
];

function fromPod(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

export function asEnvironment(variables: Readonly<Record<string, string>>): EnvVar[] {
  return Object.entries(variables).map(([name, value]) => ({ name, value }));
}

/** The prefix `$(POD_NAME).` turns it into the host name of the pod. */
export function hostInPod(service: string, { args: { clusterDomain } }: DeploymentContext): string {
  return `${service}.$(POD_NAMESPACE).svc.${clusterDomain ?? CLUSTER_DOMAIN}`;
}

/** A server does not start with an unknown directive, so versions without it get no such argument. */
export function zoneArguments({ args: { engine = "valkey", image } }: DeploymentContext): string[] {
  return engine === "valkey" && supportsZoneDirective(tagOf(image) ?? "") ? ["--availability-zone", "$(ZONE)"] : [];
}
