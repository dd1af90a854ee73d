/** How Kubernetes knows that a server is alive and ready. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { DirectiveEngine } from "../engines";
import { ENGINE_PROGRAMS } from "../engines";
import { CLIENT_PORT } from "../layout";
import { scriptCommand } from "../scripts";

/**
 * Alive is who answers at all: also that it wants a password, that it is loading, that a script keeps it busy. No password
 * is needed to learn that, and a minute without any answer is needed to be taken for dead: being restarted costs a busy
 * server more than being slow.
 * @param authority file of the certificate authority, where connections are encrypted
 */
export function livenessProbe(
  authority: string | undefined,
  engine: DirectiveEngine = "valkey",
): types.input.core.v1.Probe {
  const secure = authority === undefined ? [] : ["--tls", "--cacert", authority];
  return {
    exec: { command: [ENGINE_PROGRAMS[engine].client, "-p", String(CLIENT_PORT), "-t", "5", ...secure, "PING"] },
    initialDelaySeconds: 10,
    periodSeconds: 10,
    timeoutSeconds: 10,
    failureThreshold: 6,
  };
}

/** What ready means is in the script. Every start of one costs the machine some milliseconds, so not more often than this. */
export function readinessProbe(mode: "cluster" | "replication"): types.input.core.v1.Probe {
  return {
    exec: { command: scriptCommand(`ready-${mode}.sh`) },
    periodSeconds: 5,
    timeoutSeconds: 8,
    failureThreshold: 2,
    successThreshold: 1,
  };
}
