/** `npm start -- stop`: stops deployments that `--keep` left running. */
import { BadInput } from "../../lib/errors";
import { isProcessAlive } from "../../lib/system/process-identity";
import type { RunInfo } from "../../platforms/host/run-directory";
import { runningProcesses, RunDirectory, stopRun } from "../../platforms/host/run-directory";
import { runsDirectory } from "../../lib/system/paths";
import { print } from "../terminal/terminal";
import { COMMAND } from "../../lib/system/package";

/** Without an ID, lists the kept runs. */
export async function stopKept(id: string | undefined, all: boolean): Promise<number> {
  const runs = RunDirectory.list(runsDirectory());
  const kept = runs.filter(({ info }) => info.kept);
  if (id === undefined && !all) {
    print(kept.length === 0 ? "No deployments are kept." : `Kept deployments (${COMMAND} stop ID, or --all):`);
    print(
      ...kept.map(({ path, info }) => `  ${info.id}   stack ${info.stack}, ${runningProcesses(path).length} processes`),
    );
    return 0;
  }
  const chosen = all ? kept : runs.filter(({ info }) => info.id === id);
  if (chosen.length === 0 && !all)
    throw BadInput.of(
      "stop",
      "no-such-run",
      `there is no run ${id ?? ""}; kept runs: ${kept.map(({ info }) => info.id).join(", ") || "none"}`,
    );
  const working = chosen.filter(({ info }) => isAtWork(info));
  if (working.length > 0)
    throw BadInput.of(
      "stop",
      "still-running",
      working.map(({ info }) => `${info.id} is still running (process ${info.runner.pid}); press Ctrl-C there`),
    );
  for (const { path, info } of chosen) print(`${info.id}: stopped ${await stopRun(path)} processes`);
  if (chosen.length === 0) print("No deployments are kept.");
  return 0;
}

function isAtWork({ kept, runner }: RunInfo): boolean {
  return !kept && isProcessAlive(runner);
}
