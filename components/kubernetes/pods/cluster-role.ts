/** The role of a cluster node in its pod. Pure. */
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
      // A server announces the address in its nodes.conf, which is old after a restart, unless the command line has one.
      ...["--cluster-announce-ip", "$(POD_IP)"],
      ...["--cluster-announce-hostname", `$(POD_NAME).${hostInPod(names.headless, context)}`],
      ...zoneArguments(context),
      // A pattern may match nothing.
      ...(engine === "valkey" ? ["--include", `${ANNOUNCED_DIRECTORY}/$(POD_NAME).conf*`] : []),
    ],
    variables: { SERVICE: hostInPod(names.client, context) },
    ports: [CLIENT_PORT, BUS_PORT],
    probes: serverProbes("cluster", args.tls !== undefined, engine),
    preStop: scriptCommand("hand-over.sh", String(HAND_OVER_SECONDS)),
    // Always, so that clients outside restart nothing.
    volumes: [
      {
        volume: { name: "announced", configMap: { name: names.announced, optional: true } },
        directory: ANNOUNCED_DIRECTORY,
      },
    ],
  };
}
