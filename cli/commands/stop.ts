import { BadInput, Failure, messageOf } from "../../lib/errors";
import { allRunsDirectories } from "../../lib/system/paths";
import { isProcessAlive } from "../../lib/system/process-identity";
import { type RunInfo, runningProcesses, RunDirectory, stopRun } from "../../platforms/host/run-directory";
import { print } from "../terminal/terminal";
import { COMMAND } from "../../lib/system/package";

export async function stopKept(id: string | undefined, all: boolean): Promise<number> {
  const runs = allRunsDirectories().flatMap((place) => RunDirectory.list(place));
  const left = runs.filter(({ info }) => !isAtWork(info));
  if (id !== undefined && all) throw BadInput.of("stop", "run-with-all", `expected the run ${id} or --all, not both`);
  if (id === undefined && !all) {
    print(runs.length === 0 ? "Nothing runs." : `Runs (${COMMAND} stop ID, or --all for those that are kept or left):`);
    for (const { path, info } of runs) {
      const state = info.kept ? "kept" : isAtWork(info) ? "still running" : "left by a killed run";
      print(`  ${info.id}   ${state}, stack ${info.stack}, ${runningProcesses(path).length} processes`);
    }
    return 0;
  }
  const chosen = all ? left : runs.filter(({ info }) => info.id === id);
  const ids = left.map(({ info }) => info.id).join(", ") || "none";
  if (chosen.length === 0 && !all)
    throw BadInput.of("stop", "no-such-run", `there is no run ${id ?? ""}; expected one of: ${ids}`);
  const working = chosen.filter(({ info }) => isAtWork(info));
  if (working.length > 0)
    throw BadInput.of(
      "stop",
      "still-running",
      working.map(({ info }) => `${info.id} is still running (process ${info.runner.pid}); press Ctrl-C there`),
    );
  const failed: string[] = [];
  for (const { path, info } of chosen)
    try {
      print(`${info.id}: stopped ${await stopRun(path)} processes`);
    } catch (error) {
      failed.push(`${info.id} could not be stopped: ${messageOf(error)}`);
    }
  if (failed.length > 0) throw new Failure(failed.join("\n"));
  if (chosen.length === 0) print("Nothing is kept or left.");
  return 0;
}

function isAtWork({ kept, runner }: RunInfo): boolean {
  return !kept && isProcessAlive(runner);
}
