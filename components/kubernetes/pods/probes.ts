import type { types } from "@pulumi/kubernetes";
import { type DirectiveEngine, ENGINE_PROGRAMS } from "../engines";
import { CLIENT_PORT } from "../layout";
import { scriptCommand } from "../scripts";

/** A week: a primary waits for silent replicas as long as `onSilentReplica` says, and a restart would not help. */
const STARTUP_SECONDS = 7 * 24 * 3600;

const TCP = { tcpSocket: { port: "valkey" }, periodSeconds: 5 };

/**
 * Any reply counts, even an error, so the probe needs no password, and any certificate: a restart would not repair an
 * invalid one, and all servers would restart again and again. A minute without a reply, because a restart costs a busy
 * server more than a slow reply.
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
 * Liveness begins only after the startup probe, so a server has time to ask its replicas before it starts. The startup
 * probe only opens a TCP connection, because it runs each second, and a program costs the machine much more; with TLS
 * the server logs a failed connection.
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

/** Only TCP, because the image may have no client. Dragonfly opens its port when it is ready. */
export const LISTENS = {
  livenessProbe: { ...TCP, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 },
  readinessProbe: TCP,
} as const satisfies Pick<types.input.core.v1.Container, "livenessProbe" | "readinessProbe">;

/**
 * Every 10 s, because a script costs a machine about 0.1 s of CPU. A server that becomes ready is seen sooner, because
 * ready.sh looks again for 8 s.
 */
function readinessProbe(mode: "cluster" | "replication"): types.input.core.v1.Probe {
  return {
    exec: { command: scriptCommand("ready.sh", mode) },
    ...{ periodSeconds: 10, timeoutSeconds: 15, failureThreshold: 2, successThreshold: 1 },
  };
}
