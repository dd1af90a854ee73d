/** A known slow-down: a server that is stopped for a tenth of the time. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessIdentity } from "../../benchmarks/host/process-identity";
import { isAlive, parseRecord, signalProcess } from "../../benchmarks/host/process-identity";
import { RunDirectory } from "../../benchmarks/host/run-directory";

/** How long each stop lasts at least, milliseconds: short beside a measurement, long beside a timer. */
const STOP_MS = 4;
const LOOK_MS = 10;

/**
 * Stops the server of that node whenever there is one, for `part` of the time. What a stop takes is measured, and the server then runs for as
 * long as makes the part exact, whatever the timers did.
 * @param part 0 … 1
 */
export async function handicap(runs: string, node: string, part: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const server = findServer(runs, node);
    if (server === undefined) await pause(LOOK_MS, signal);
    else await slowDown(server, part, signal);
  }
}

async function slowDown(server: ProcessIdentity, part: number, signal: AbortSignal): Promise<void> {
  let owed = 0;
  while (!signal.aborted && isAlive(server)) {
    const began = performance.now();
    try {
      if (!signalProcess(server, "SIGSTOP")) return;
      await pause(STOP_MS, signal);
    } finally {
      signalProcess(server, "SIGCONT");
    }
    const stopped = performance.now();
    owed += (stopped - began) * (1 / part - 1);
    await pause(Math.max(1, owed), signal);
    owed -= performance.now() - stopped;
  }
}

/** Ends early, and does not reject, when told to. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

function findServer(runs: string, node: string): ProcessIdentity | undefined {
  for (const { path } of RunDirectory.list(runs)) {
    try {
      for (const name of readdirSync(join(path, "processes"))) {
        const identity = name.startsWith(`${node}.`) ? parseRecord(readFileSync(join(path, "processes", name), "utf8")) : undefined;
        if (identity !== undefined && isAlive(identity)) return identity;
      }
    } catch {
      // A run that ends takes its directory away.
    }
  }
  return undefined;
}
