/** Slows a server down by a known share of its CPU time. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../../valkey/connection";
import type { Connection } from "../../../valkey/connection";
import { LOOPBACK } from "../../../platforms/host/ports";
import type { ProcessIdentity } from "../../../lib/system/process-identity";
import { isProcessAlive, parseProcessRecord } from "../../../lib/system/process-identity";
import { RunDirectory } from "../../../platforms/host/run-directory";
import { cpuSeconds } from "../proc";

const SCRIPT = readFileSync(join(__dirname, "busy.lua"), "utf8");
/** Runs of the script that tell what one costs. */
const TRIALS = 20;
/** Milliseconds between two searches for the server. */
const POLL_MS = 10;
const PAUSE_MS = 2;

/**
 * Keeps the server of a node busy for a share of its own CPU time, whenever there is one. A server without CPU to spare
 * then answers fewer requests by that share, whether it runs all the time or is paused now and then.
 * @param runs directory of the run directories
 * @param share 0 … 1
 */
export async function slowDownServer(runs: string, node: string, share: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const found = findServer(runs, node);
    // The connection breaks when the server ends.
    if (found !== undefined) await keepBusy(found, share, signal).catch(() => undefined);
    await pause(POLL_MS, signal);
  }
}

/** A server that runs, and how to connect to it. */
interface RunningServer {
  readonly identity: ProcessIdentity;
  readonly port: number;
  readonly password: string;
}

async function keepBusy(
  { identity, port, password }: RunningServer,
  share: number,
  signal: AbortSignal,
): Promise<void> {
  const connection = await connect("slow-server", { host: LOOPBACK, port }, { password });
  try {
    const each = await costOf(connection, identity);
    const began = cpuSeconds(identity.pid);
    let spent = 0;
    while (!signal.aborted && isProcessAlive(identity)) {
      if ((cpuSeconds(identity.pid) - began) * share < spent) await pause(PAUSE_MS, signal);
      else {
        await connection.eval(SCRIPT, 0);
        spent += each;
      }
    }
  } finally {
    connection.disconnect();
  }
}

/** CPU seconds of the server that one run of the script takes. */
async function costOf(connection: Connection, { pid }: ProcessIdentity): Promise<number> {
  const began = cpuSeconds(pid);
  for (let trial = 0; trial < TRIALS; trial++) await connection.eval(SCRIPT, 0);
  return (cpuSeconds(pid) - began) / TRIALS;
}

function findServer(runs: string, node: string): RunningServer | undefined {
  for (const { path } of RunDirectory.list(runs)) {
    try {
      const record = readdirSync(join(path, "processes")).find((name) => name.startsWith(`${node}.`));
      const identity =
        record === undefined ? undefined : parseProcessRecord(readFileSync(join(path, "processes", record), "utf8"));
      const config = readFileSync(join(path, node.replace(/-\d+$/, ""), node, "valkey.conf"), "utf8");
      const value = (directive: string): string | undefined =>
        new RegExp(`^${directive} "?([^"\n]*)`, "m").exec(config)?.[1];
      const [port, password] = [value("port"), value("requirepass")];
      if (identity !== undefined && isProcessAlive(identity) && port !== undefined && password !== undefined)
        return { identity, port: Number(port), password };
    } catch {
      // The files of a run appear after its directory, and disappear before it.
    }
  }
  return undefined;
}

/** Ends early, without rejecting, when the signal is aborted. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
