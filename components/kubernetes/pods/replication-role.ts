/** Role of a server in replication mode: the parts of its pod that are specific to this mode. */
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import type { DeploymentContext } from "../deployment-context";
import { directiveEngine, dragonflyFlags, ENGINE_PROGRAMS } from "../engines";
import { CLIENT_PORT, CONFIG_FILE, HAND_OVER_SECONDS, PRIMARY_FILE } from "../layout";
import { scriptCommand } from "../scripts";
import { LISTENS, serverProbes } from "./probes";
import { type ServerRole, hostInPod, zoneArguments } from "./server-pod";
import { primaryVolume } from "./pod-volumes";

/** @param sentinel undefined if `up` designates the primary @param maxLagSeconds of a ready replica */
export function replicationRole(
  context: DeploymentContext,
  sentinel: SentinelSettings | undefined,
  maxLagSeconds: number,
): ServerRole {
  const { names, args } = context;
  const engine = directiveEngine(args.engine);
  return {
    command: [
      ...scriptCommand("start-replication.sh", String(args.onSilentReplica ?? "default")),
      ...[ENGINE_PROGRAMS[engine].server, CONFIG_FILE],
      // The server announces a host name, because a pod keeps its name when it gets a new address.
      ...["--replica-announce-ip", `$(POD_NAME).${hostInPod(names.headless, context)}`],
      ...zoneArguments(context),
    ],
    variables: {
      DEPLOYMENT: context.deployment,
      SERVERS: `.${hostInPod(names.headless, context)}`,
      PRIMARY_FILE,
      MAX_LAG: String(maxLagSeconds),
      ...(sentinel === undefined
        ? { PRIMARY_SERVICE: hostInPod(names.client, context) }
        : sentinelVariables(context, sentinel)),
    },
    volumes: [primaryVolume(names)],
    ports: [CLIENT_PORT],
    probes: serverProbes("replication", args.tls !== undefined, engine),
    ...(sentinel === undefined
      ? {}
      : { preStop: scriptCommand("hand-over-replication.sh", String(HAND_OVER_SECONDS)) }),
  };
}

/** For Redis or Dragonfly. Pod 0 is the primary, and a server starts without asking others for newer data. */
export function comparedRole(context: DeploymentContext): ServerRole {
  const { names, args } = context;
  const common = {
    variables: { PRIMARY_SERVICE: hostInPod(names.primary, context) },
    ports: [CLIENT_PORT],
  };
  if (args.engine === "dragonfly") {
    const program = ["dragonfly", ...dragonflyFlags(args.settings)];
    return { ...common, command: scriptCommand("start-replica.sh", ...program), probes: LISTENS };
  }
  const engine = directiveEngine(args.engine);
  const { startupProbe: _, ...probes } = serverProbes("replication", false, engine);
  return {
    ...common,
    command: scriptCommand("start-replica.sh", ENGINE_PROGRAMS[engine].server, CONFIG_FILE),
    probes,
  };
}

export function sentinelVariables(
  context: DeploymentContext,
  { count, quorum, downAfterMs, failoverTimeoutMs }: SentinelSettings,
): Record<string, string> {
  return {
    SENTINELS: `.${hostInPod(context.names.sentinel, context)}`,
    COUNT: String(count),
    QUORUM: String(quorum),
    DOWN_AFTER: String(downAfterMs),
    FAILOVER_TIMEOUT: String(failoverTimeoutMs),
  };
}
