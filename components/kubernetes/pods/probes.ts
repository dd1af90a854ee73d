/** Liveness and readiness probes of a server. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { DirectiveEngine } from "../engines";
import { ENGINE_PROGRAMS } from "../engines";
import { ASK_PATIENCE_SECONDS, CLIENT_PORT } from "../layout";
import { scriptCommand } from "../scripts";

const STARTUP_SECONDS = ASK_PATIENCE_SECONDS + 60;

const READINESS = { failureThreshold: 2, successThreshold: 1 };

const TCP = { tcpSocket: { port: "valkey" }, periodSeconds: 5 };

/**
 * Liveness probe. Any reply counts, even an error because the password is missing, data is being loaded, or a script
 * runs. So the probe needs no password. A server is restarted after a minute without a reply. The limit is as long as a
 * minute, because a restart costs a busy server more than a slow reply. The probe accepts any certificate: a restart
 * would not make an invalid certificate valid, and all servers would restart at the same time, again and again.
 * @param tls whether connections are encrypted
 */
export function livenessProbe(tls: boolean, engine: DirectiveEngine = "valkey"): types.input.core.v1.Probe {
  const secure = tls ? ["--tls", "--insecure"] : [];
  return {
    exec: { command: [ENGINE_PROGRAMS[engine].client, "-p", String(CLIENT_PORT), "-t", "5", ...secure, "PING"] },
    initialDelaySeconds: 10,
    periodSeconds: 20,
    timeoutSeconds: 10,
    failureThreshold: 3,
  };
}

/**
 * All probes of a Valkey or Redis server. Liveness probes begin only after the startup probe has passed, so a server has
 * time to ask its replicas before it starts. The startup probe only opens a TCP connection, because it runs each second,
 * and a program costs the machine much more. With TLS the server logs this connection as one that failed.
 * @param tls whether connections are encrypted
 */
export function serverProbes(
  mode: "cluster" | "replication",
  tls: boolean,
  engine: DirectiveEngine,
): Pick<types.input.core.v1.Container, "startupProbe" | "livenessProbe" | "readinessProbe"> {
  return {
    startupProbe: { ...TCP, periodSeconds: 1, failureThreshold: STARTUP_SECONDS },
    livenessProbe: livenessProbe(tls, engine),
    readinessProbe: readinessProbe(mode),
  };
}

/**
 * Probes of Dragonfly. They only open a TCP connection, because the image may have no client. Dragonfly opens its port
 * when it is ready.
 */
export const LISTENS = {
  livenessProbe: { ...TCP, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 },
  readinessProbe: TCP,
} as const satisfies Pick<types.input.core.v1.Container, "livenessProbe" | "readinessProbe">;

/**
 * Readiness probe, which runs a script. The start of a program in a container costs a machine about 0.1 s of CPU. A
 * cluster's nodes find each other by themselves, so they are asked every 10 s; the script of a node that is not ready
 * looks again and again until the next period (ready.sh). A replica finds the new address of its primary only by its
 * script, so it is asked every 5 s.
 */
function readinessProbe(mode: "cluster" | "replication"): types.input.core.v1.Probe {
  return mode === "cluster"
    ? { exec: { command: scriptCommand("ready.sh", mode) }, periodSeconds: 10, timeoutSeconds: 15, ...READINESS }
    : { exec: { command: scriptCommand("ready-replication.sh") }, periodSeconds: 5, timeoutSeconds: 8, ...READINESS };
}
