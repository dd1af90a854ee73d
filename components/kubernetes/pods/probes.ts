/** Liveness and readiness probes of a server. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { DirectiveEngine } from "../engines";
import { ENGINE_PROGRAMS } from "../engines";
import { ASK_PATIENCE_SECONDS, CLIENT_PORT } from "../layout";
import { scriptCommand } from "../scripts";

const STARTUP_SECONDS = ASK_PATIENCE_SECONDS + 60;

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
    periodSeconds: 10,
    timeoutSeconds: 10,
    failureThreshold: 6,
  };
}

/** All probes of a Valkey or Redis server. @param tls whether connections are encrypted */
export function serverProbes(
  mode: "cluster" | "replication",
  tls: boolean,
  engine: DirectiveEngine,
): Pick<types.input.core.v1.Container, "startupProbe" | "livenessProbe" | "readinessProbe"> {
  return {
    startupProbe: startupProbe(tls, engine),
    livenessProbe: livenessProbe(tls, engine),
    readinessProbe: readinessProbe(mode),
  };
}

const TCP = { tcpSocket: { port: "valkey" }, periodSeconds: 5 };

/**
 * Probes of Dragonfly. They only open a TCP connection, because the image may have no client. Dragonfly opens its port
 * when it is ready.
 */
export const LISTENS = {
  livenessProbe: { ...TCP, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 },
  readinessProbe: TCP,
} as const satisfies Pick<types.input.core.v1.Container, "livenessProbe" | "readinessProbe">;

/**
 * Startup probe. Liveness probes begin only after this probe has passed, so a server has time to ask its replicas
 * before it starts.
 */
function startupProbe(...server: Parameters<typeof livenessProbe>): types.input.core.v1.Probe {
  return { ...livenessProbe(...server), initialDelaySeconds: 0, periodSeconds: 1, failureThreshold: STARTUP_SECONDS };
}

/** Readiness probe, which runs a script. Each run costs the machine some milliseconds of CPU, so the period is 5 s. */
function readinessProbe(mode: "cluster" | "replication"): types.input.core.v1.Probe {
  return {
    exec: { command: scriptCommand(`ready-${mode}.sh`) },
    periodSeconds: 5,
    timeoutSeconds: 8,
    failureThreshold: 2,
    successThreshold: 1,
  };
}
