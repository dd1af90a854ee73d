/** The init container of servers that Sentinels watch. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { CHART_DATA_VOLUME, SCRIPTS_DIRECTORY } from "../layout";
import { pullPolicy } from "../pods/image";
import { CONTAINER_SECURITY_CONTEXT } from "../pods/security-context";
import { INIT_RESOURCES, sidecarResources } from "../pods/sidecar-resources";
import { secretMounts } from "../pods/volumes";
import { scriptCommand } from "../scripts";
import { sentinelEnvironment } from "./sentinel-environment";

/**
 * Runs after the chart's own init container and writes into valkey.conf which primary the Sentinels name. Without it,
 * pod 0 would start as a primary even after another pod took over.
 */
export function findPrimaryContainer(
  context: DeploymentContext,
  settings: SentinelSettings,
): types.input.core.v1.Container {
  const { names, args } = context;
  return {
    name: "find-primary",
    image: args.image,
    imagePullPolicy: pullPolicy(args.image, args.imagePullPolicy),
    command: scriptCommand("sentinel.sh", "find-primary"),
    env: [...sentinelEnvironment(context, settings), { name: "CONFIG", value: "/data/conf/valkey.conf" }],
    resources: sidecarResources(args.resources, INIT_RESOURCES),
    securityContext: CONTAINER_SECURITY_CONTEXT,
    // The chart chooses the names of the volumes.
    volumeMounts: [
      { name: CHART_DATA_VOLUME, mountPath: "/data" },
      { name: `${names.scripts}-valkey`, mountPath: SCRIPTS_DIRECTORY, readOnly: true },
      ...secretMounts(undefined),
    ],
  };
}
