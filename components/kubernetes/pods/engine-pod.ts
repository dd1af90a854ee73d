/** The pod of a Redis or Dragonfly server in replication mode. Pod 0 is always the primary. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { Engine } from "../../../valkey/engines";
import type { ServerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { directiveEngine, dragonflyFlags, ENGINE_PROGRAMS } from "../engines";
import { pullPolicy } from "./image";
import {
  CLIENT_PORT,
  CONFIG_DIRECTORY,
  DATA_DIRECTORY,
  DATA_VOLUME,
  TERMINATION_GRACE_SECONDS,
  SERVER_CONTAINER,
} from "../layout";
import { exporterContainer } from "../metrics";
import { objectLabels } from "../names";
import { podBasics } from "./pod-basics";
import { livenessProbe, readinessProbe } from "./probes";
import { CONTAINER_SECURITY_CONTEXT } from "./security-context";
import { serviceHost } from "./server-pods";
import { scriptCommand } from "../scripts";
import { checksum } from "../server-config";
import { scriptEnvironment, serverMounts, podVolumes } from "./volumes";

type Container = types.input.core.v1.Container;

/** @param config text of the server's configuration or flags; another text restarts the pods */
export function enginePod(context: DeploymentContext, config: string): types.input.core.v1.PodTemplateSpec {
  const { deployment, names, args } = context;
  const { metrics } = args;
  return {
    metadata: { labels: objectLabels(deployment), annotations: { "checksum/config": checksum(config) } },
    spec: {
      ...podBasics(context, { graceSeconds: TERMINATION_GRACE_SECONDS }),
      containers: [
        serverContainer(context),
        ...(metrics === undefined ? [] : [exporterContainer(metrics, { ...args, tls: undefined })]),
      ],
      volumes: [...podVolumes(names, undefined), ...(hasVolumes(args) ? [] : [{ name: DATA_VOLUME, emptyDir: {} }])],
    },
  };
}

/** Whether each server has a volume of its own. Dragonfly keeps nothing on disk here. */
export function hasVolumes({ engine, storage }: Pick<ServerArgs, "engine" | "storage">): boolean {
  return engine !== "dragonfly" && storage.ephemeral !== true;
}

function serverContainer(context: DeploymentContext): Container {
  const { names, args } = context;
  const { engine, image, imagePullPolicy, resources, settings } = args;
  const program =
    engine === "dragonfly"
      ? ["dragonfly", ...dragonflyFlags(settings)]
      : [ENGINE_PROGRAMS[directiveEngine(engine)].server, `${CONFIG_DIRECTORY}/valkey.conf`];
  return {
    name: SERVER_CONTAINER,
    image,
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    securityContext: CONTAINER_SECURITY_CONTEXT,
    command: scriptCommand("start-replica.sh", ...program),
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "PRIMARY_SERVICE", value: serviceHost(names.primary, context) },
      ...Object.entries(scriptEnvironment(undefined, engine)).map(([name, value]) => ({ name, value })),
    ],
    ports: [{ name: "valkey", containerPort: CLIENT_PORT }],
    resources,
    ...probes(engine),
    volumeMounts: [{ name: DATA_VOLUME, mountPath: DATA_DIRECTORY }, ...serverMounts(undefined)],
  };
}

/** Dragonfly's image may have no client program; the server listens when it is ready. */
function probes(engine: Engine | undefined): Pick<Container, "livenessProbe" | "readinessProbe"> {
  if (engine !== "dragonfly")
    return {
      livenessProbe: livenessProbe(false, directiveEngine(engine)),
      readinessProbe: readinessProbe("replication"),
    };
  const listens = { tcpSocket: { port: "valkey" }, periodSeconds: 5 };
  return {
    livenessProbe: { ...listens, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 },
    readinessProbe: listens,
  };
}
