/** memtier_benchmark as a process on this machine. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../lib/errors";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { clientCpu } from "../client-cpu";
import type { CpuSample } from "../../../platforms/host/cpu";
import { cpuWithin } from "../../../platforms/host/cpu";
import type { LoadRequest, LoadDriver, LoadOutcome, LoadObserver } from "../load-driver";
import { TIMEOUT_MARGIN_SECONDS, LoadGeneratorFailure } from "../load-driver";
import type { OutputCollector } from "../local-process";
import { lastTwoLines, runLocalProcess } from "../local-process";
import { withoutSecrets } from "../valkey-benchmark/arguments";
import type { MemtierRun } from "./arguments";
import { memtierArguments } from "./arguments";
import type { MemtierResults } from "./output";
import { parseMemtierResults, memtierReport } from "./output";

export interface LocalMemtierOptions {
  readonly run: RunDirectory;
  /** Path of memtier_benchmark. */
  readonly program: string;
  /** Whether the servers also run on this machine. */
  readonly serversHere: boolean;
}

interface OneRun {
  readonly results: MemtierResults;
  readonly startedAt: string;
  readonly command: readonly string[];
  readonly text: string;
  readonly cpu: readonly CpuSample[];
  readonly programCores: number;
}

export class LocalMemtierDriver implements LoadDriver<MemtierRun> {
  readonly count = 1;

  constructor(private readonly options: LocalMemtierOptions) {}

  async run(
    { run, warmUp }: LoadRequest<MemtierRun>,
    observer: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const warmUps = warmUp === undefined ? [] : [await this.#runOnce(warmUp, signal, "warm-up: ")];
    await observer.begin();
    const one = await this.#runOnce(run, signal);
    await observer.end();
    const { results, startedAt, cpu, programCores } = one;
    const { fromMs, toMs, latencies, warnings } = results;
    return {
      report: memtierReport(results, run.mix.name),
      latencies,
      fromMs,
      toMs,
      startedAt,
      outputs: [
        ...warmUps.map(({ command, text }) => ({ warmUp: true, runner: undefined, command, text })),
        { warmUp: false, runner: undefined, command: one.command, text: one.text },
      ],
      cpu: clientCpu([cpuWithin(cpu, fromMs, toMs)], {
        threads: run.mix.threads,
        program: programCores,
        serversHere: this.options.serversHere,
      }),
      runners: [],
      warnings,
    };
  }

  async #runOnce(run: MemtierRun, signal: AbortSignal, prefix = ""): Promise<OneRun> {
    const file = join(this.options.run.path, "memtier.json");
    rmSync(file, { force: true });
    const args = memtierArguments(run, file);
    const output = new WholeOutput();
    const title = `${prefix}memtier_benchmark`;
    const process = {
      run: this.options.run,
      recordName: "memtier",
      title,
      command: this.options.program,
      args,
      timeoutSeconds: run.mix.length.seconds + TIMEOUT_MARGIN_SECONDS,
    };
    const ended = await runLocalProcess(process, output, signal);
    try {
      const json = readFileSync(file, "utf8");
      const command = withoutSecrets(args);
      return { ...ended, results: parseMemtierResults(json), command, text: `${output.text}\n${json}` };
    } catch (error) {
      throw new LoadGeneratorFailure(`${title}: ${messageOf(error)}`, output.text, { cause: error });
    }
  }
}

/** Collects both output streams of memtier_benchmark. */
class WholeOutput implements OutputCollector {
  text = "";

  add(chunk: string): void {
    this.text += chunk;
  }

  addError(chunk: string): void {
    this.text += chunk;
  }

  /** The last lines of the output, without the lines that show progress. */
  get lastLines(): string {
    return lastTwoLines(this.text, (line) => !line.startsWith("[RUN"));
  }
}
