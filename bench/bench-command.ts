/** The command behind `npm run bench`. */
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { shortPath } from "../benchmarks/run/artifacts";
import { exitStatusOf } from "../cli/terminal/interruption";
import { runSteps } from "../cli/terminal/steps";
import { print, printError } from "../cli/terminal/terminal";
import { BadInput, Failure, Interrupted, messageOf } from "../lib/errors";
import { ROOT } from "../lib/system/package";
import {
  allRunsDirectories,
  memoryRunsDirectory,
  removeEmptyMemoryDirectory,
  runsDirectory,
} from "../lib/system/paths";
import { availableCores } from "../platforms/host/cpu";
import { stopAbandonedRuns } from "../platforms/host/run-directory";
import { type Benchmark, type ModelOptions, Workbench } from "./workbench";
import { parseEvents } from "./model/events";
import { ALL_IDS, BENCHMARKS, listRows, selectIds } from "./catalogue";
import { type BenchRow, BenchFile, rowTable } from "./row";

const USAGE = "npm run bench -- [ID …] [--list] [--output FILE] [--sequences N] [--seed N] [--events EVENTS]";

interface Arguments {
  readonly ids: ReadonlySet<string>;
  readonly list: boolean;
  readonly output: string;
  readonly model: ModelOptions;
}

function readArguments(args: string[]): Arguments {
  const text = { type: "string" } as const;
  const options = { list: { type: "boolean" }, output: text, sequences: text, seed: text, events: text } as const;
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
    const { list = false, output = join(ROOT, "bench.json"), sequences = "20", seed = "1" } = values;
    const [count, first] = [wholeNumber("--sequences", sequences), wholeNumber("--seed", seed)];
    const events = values.events === undefined ? undefined : parseEvents(values.events);
    return { ids: selectIds(positionals), list, output, model: { sequences: count, seed: first, events } };
  } catch (error) {
    if (error instanceof BadInput) throw error;
    throw BadInput.of("npm run bench", "wrong-usage", `${messageOf(error)}; usage: ${USAGE}`);
  }
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw BadInput.of("npm run bench", "wrong-usage", `${option} ${text}: expected a whole number`);
  return Number(text);
}

async function bench(
  { ids, output, model }: Arguments,
  signal: AbortSignal,
  benchmarks: readonly Benchmark[],
): Promise<readonly BenchRow[]> {
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
  const emit = (...rows: readonly BenchRow[]): void => {
    for (const row of rows.filter(({ id }) => ids.has(id))) {
      file.put(row);
      results.push(row);
    }
  };
  const wanted = benchmarks.filter((benchmark) => benchmark.ids.some((id) => ids.has(id)));
  const skipped = wanted.flatMap(({ ids: all, missing }) =>
    missing === undefined ? [] : all.filter((id) => ids.has(id)).map((id) => `Skipped: ${id}: ${missing}`),
  );
  const steps = wanted
    .filter(({ missing }) => missing === undefined)
    .map(({ title, run }) => ({
      title,
      run: (report: (line: string) => void) =>
        run({ workbench, signal, wanted: ids, model, report, emit }).then(() => undefined),
    }));
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
  if (lastMinute <= cores / 2) return [];
  const busy = `The machine is busy (load ${lastMinute.toFixed(1)} on ${cores} cores)`;
  return [`${busy}: ratios are inexact, and targets may be missed that an idle machine meets.`];
}

/**
 * Measures the rows that the arguments name; without arguments, all rows.
 * @param benchmarks have some of the rows. @default all benchmarks
 * @returns the exit status: 1 when a target is missed, 2 for bad input
 * @throws internal errors
 */
export async function benchCommand(
  args: string[],
  signal: AbortSignal,
  benchmarks: readonly Benchmark[] = BENCHMARKS,
): Promise<number> {
  try {
    const wanted = readArguments(args);
    if (wanted.list) {
      print(...listRows());
      return 0;
    }
    const missed = (await bench(wanted, signal, benchmarks)).filter(({ met }) => !met);
    if (missed.length > 0) print(`Missed: ${missed.map(({ id }) => id).join(", ")}`);
    return missed.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof BadInput || error instanceof Failure || error instanceof Interrupted)) throw error;
    printError(error.message);
    return error instanceof Interrupted ? exitStatusOf(error) : error instanceof BadInput ? 2 : 1;
  }
}
