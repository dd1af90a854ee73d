/** Role of a cluster node: the parts of its pod that are specific to cluster mode. Pure. */
import type { DeploymentContext } from "../deployment-context";
import { directiveEngine, ENGINE_PROGRAMS } from "../engines";
import {
  ANNOUNCED_DIRECTORY,
  ASK_PATIENCE_SECONDS,
  ASK_SECONDS,
  BUS_PORT,
  CLIENT_PORT,
  CONFIG_FILE,
  HAND_OVER_SECONDS,
} from "../layout";
import { scriptCommand } from "../scripts";
import { serverProbes } from "./probes";
import type { ServerRole } from "./server-pod";
import { hostInPod, zoneArguments } from "./server-pod";

export function clusterRole(context: DeploymentContext): ServerRole {
  const { names, args } = context;
  const engine = directiveEngine(args.engine);
  return {
    command: [
      ...scriptCommand("start-cluster.sh", String(ASK_SECONDS), String(ASK_PATIENCE_SECONDS)),
      ...[ENGINE_PROGRAMS[engine].server, CONFIG_FILE],
      // Without this argument a server announces the address in its nodes.conf, which is outdated after a restart.
      ...["--cluster-announce-ip", "$(POD_IP)"],
      ...["--cluster-announce-hostname", `$(POD_NAME).${hostInPod(names.headless, context)}`],
      ...zoneArguments(context),
      // The argument is a pattern, because an included pattern may match no file. A plain file name must exist.
      ...(engine === "valkey" ? ["--include", `${ANNOUNCED_DIRECTORY}/$(POD_NAME).conf*`] : []),
    ],
    variables: { SERVICE: hostInPod(names.client, context) },
    ports: [CLIENT_PORT, BUS_PORT],
    probes: serverProbes("cluster", args.tls !== undefined, engine),
    preStop: scriptCommand("hand-over.sh", String(HAND_OVER_SECONDS)),
    // These volumes are always present, so that adding or removing `external` restarts no pod.
    volumes: [
      {
        volume: { name: "announced", configMap: { name: names.announced, optional: true } },
        directory: ANNOUNCED_DIRECTORY,
      },
    ],
  };
}
