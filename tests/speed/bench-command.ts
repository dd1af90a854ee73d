/** The command behind `npm run bench`. */
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BadInput, Failure, Interrupted, messageOf } from "../../lib/errors";
import { stopAbandonedRuns } from "../../platforms/host/run-directory";
import { availableCores } from "../../platforms/host/cpu";
import { shortPath } from "../../benchmarks/run/artifacts";
import { exitStatusOf } from "../../cli/terminal/interruption";
import { printError, print } from "../../cli/terminal/terminal";
import {
  allRunsDirectories,
  removeEmptyMemoryDirectory,
  memoryRunsDirectory,
  runsDirectory,
} from "../../lib/system/paths";
import { runSteps } from "../../cli/terminal/steps";
import { BenchFile } from "./bench-file";
import { ALL_IDS, BENCHMARKS, selectIds, listRows } from "./catalogue";
import type { BenchRow } from "./row";
import { rowTable } from "./row-table";
import { Workbench } from "./workbench";
import { ROOT } from "../../lib/system/package";

const USAGE = "npm run bench -- [ID …] [--list] [--output FILE]";

interface Arguments {
  readonly ids: ReadonlySet<string>;
  readonly list: boolean;
  readonly output: string;
}

function readArguments(args: string[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { list: { type: "boolean" }, output: { type: "string" } },
    });
    return {
      ids: selectIds(positionals),
      list: values.list === true,
      output: values.output ?? join(ROOT, "bench.json"),
    };
  } catch (error) {
    if (error instanceof BadInput) throw error;
    throw new BadInput("npm run bench", [`${messageOf(error)}; usage: ${USAGE}`]);
  }
}

async function bench({ ids, output }: Arguments, signal: AbortSignal): Promise<readonly BenchRow[]> {
  const file = BenchFile.open(output, ALL_IDS);
  await stopAbandonedRuns(...allRunsDirectories());
  const memory = memoryRunsDirectory();
  print(
    memory === undefined
      ? "The servers' files are on disk; from 96 nodes on, formation waits for its fsync."
      : "The servers' files are in memory (/dev/shm), so that no disk is measured.",
  );
  print(...busyWarning());
  const workbench = new Workbench(memory ?? runsDirectory(), signal);
  const results: BenchRow[] = [];
  const emit = (result: BenchRow): void => {
    file.put(result);
    results.push(result);
  };
  const skipped: string[] = [];
  const skip = (id: string, why: string): void => {
    skipped.push(`Skipped: ${id}: ${why}`);
  };
  const steps = BENCHMARKS.flatMap((benchmark) => {
    const wanted = new Set(benchmark.ids.filter((id) => ids.has(id)));
    return wanted.size === 0
      ? []
      : [
          {
            title: benchmark.title,
            run: (report: (line: string) => void) =>
              benchmark.run({ workbench, wanted, report, emit, skip }).then(() => undefined),
          },
        ];
  });
  try {
    await runSteps(steps);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    removeEmptyMemoryDirectory();
    print(...skipped);
    if (results.length > 0) print("", ...rowTable(results), "", `Written to ${shortPath(output)}`);
  }
  return results;
}

/** A warning when other processes use the machine: they take part in every figure. */
function busyWarning(): string[] {
  const [lastMinute = 0] = loadavg();
  const cores = availableCores();
  return lastMinute > cores / 2
    ? [
        `The machine is busy (load ${lastMinute.toFixed(1)} on ${cores} cores): ratios are inexact, ` +
          "and targets may be missed that an idle machine meets.",
      ]
    : [];
}

/**
 * Measures the rows that the arguments name; without arguments, all rows.
 * @returns the exit status: 1 when a target is missed, 2 for bad input
 * @throws internal errors
 */
export async function benchCommand(args: string[], signal: AbortSignal): Promise<number> {
  try {
    const wanted = readArguments(args);
    if (wanted.list) {
      print(...listRows());
      return 0;
    }
    const missed = (await bench(wanted, signal)).filter(({ met }) => !met);
    if (missed.length > 0) print(`Missed: ${missed.map(({ id }) => id).join(", ")}`);
    return missed.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof BadInput || error instanceof Failure || error instanceof Interrupted)) throw error;
    printError(error.message);
    return error instanceof Interrupted ? exitStatusOf(error) : error instanceof BadInput ? 2 : 1;
  }
}
