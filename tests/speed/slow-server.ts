/** A known slow-down: a server that spends a tenth of its CPU time on something else. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../valkey/connection";
import type { Connection } from "../../valkey/connection";
import { LOOPBACK } from "../../platforms/host/ports";
import type { ProcessIdentity } from "../../lib/process-identity";
import { isProcessAlive, parseProcessRecord } from "../../lib/process-identity";
import { RunDirectory } from "../../platforms/host/run-directory";
import { cpuSeconds } from "./proc";

/** Does nothing, for about a quarter of a millisecond. */
const SCRIPT = "local x = 0 for i = 1, 30000 do x = x + i end return x";
/** Runs from which what one costs is known. */
const TRIALS = 20;
const LOOK_MS = 10;
const PAUSE_MS = 2;

/**
 * Keeps the server of that node, whenever there is one, busy for `part` of its own CPU time. A server that has no time to
 * spare then answers fewer requests by that part, whether it runs all the time or in slices: its CPU time is counted, not the clock's.
 * @param runs where run directories are
 * @param part 0 … 1
 */
export async function slowDownServer(runs: string, node: string, part: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const found = findServer(runs, node);
    // A server that ends takes the connection with it.
    if (found !== undefined) await keepBusy(found, part, signal).catch(() => undefined);
    await pause(LOOK_MS, signal);
  }
}

interface Found {
  readonly identity: ProcessIdentity;
  readonly port: number;
  readonly password: string;
}

async function keepBusy({ identity, port, password }: Found, part: number, signal: AbortSignal): Promise<void> {
  const connection = await connect("handicap", { host: LOOPBACK, port }, { password });
  try {
    const each = await costOf(connection, identity);
    const began = cpuSeconds(identity.pid);
    let spent = 0;
    while (!signal.aborted && isProcessAlive(identity)) {
      if ((cpuSeconds(identity.pid) - began) * part < spent) await pause(PAUSE_MS, signal);
      else {
        await connection.eval(SCRIPT, 0);
        spent += each;
      }
    }
  } finally {
    connection.disconnect();
  }
}

/** Seconds of the server's CPU that one script takes. */
async function costOf(connection: Connection, { pid }: ProcessIdentity): Promise<number> {
  const began = cpuSeconds(pid);
  for (let trial = 0; trial < TRIALS; trial++) await connection.eval(SCRIPT, 0);
  return (cpuSeconds(pid) - began) / TRIALS;
}

function findServer(runs: string, node: string): Found | undefined {
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
      // A run that begins has no such files yet, and one that ends takes them away.
    }
  }
  return undefined;
}

/** Ends early, and does not reject, when told to. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
