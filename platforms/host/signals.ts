/** Signals to servers on this machine. */
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import type { ServerProcess } from "./servers";

/** Signals that faults send to servers. */
export type ServerSignal = "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT";

/** Whether the signal ends a server. */
export function endsServer(signal: ServerSignal): boolean {
  return signal === "SIGKILL" || signal === "SIGTERM";
}

/** Whether a server's process has ended. */
export function hasExited({ process }: ServerProcess): boolean {
  return identifyProcess(process.pid) === undefined;
}

/** Sends a signal to servers. @returns when the servers have ended; at once if the signal does not end servers */
export async function signalServers(servers: readonly ServerProcess[], signal: ServerSignal): Promise<void> {
  for (const { process } of servers) {
    const identity = identifyProcess(process.pid);
    if (identity !== undefined) signalProcess(identity, signal);
  }
  if (endsServer(signal)) await Promise.all(servers.map(({ process }) => process.ended));
}
