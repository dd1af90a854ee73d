/** memtier_benchmark as a load generator: a process on this machine, with its CPU and the machine's sampled beside it. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../lib/errors";
import { identifyProcess, signalProcess } from "../../../lib/process-identity";
import { formatExit, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { clientCpu } from "../client-cpu";
import { epochMs } from "../../measuring/counters";
import type { CpuSample } from "../../../platforms/host/cpu";
import { cpuWithin, sampleCpu } from "../../../platforms/host/cpu";
import type { LoadRequest, LoadRunner, LoadOutcome, LoadObserver } from "../load-runner";
import { TIMEOUT_MARGIN_SECONDS, LoadGeneratorFailure } from "../load-runner";
import type { MemtierRun } from "./arguments";
import { memtierArguments, withoutCredentials } from "./arguments";
import type { MemtierResults } from "./output";
import { parseMemtierResults, memtierReport } from "./output";

export interface LocalMemtierOptions {
  readonly run: RunDirectory;
  /** Path of memtier_benchmark. */
  readonly program: string;
  /** Whether the servers run on this machine too. */
  readonly serversHere: boolean;
}

const CPU_INTERVAL_MS = 100;

interface OneRun {
  readonly results: MemtierResults;
  readonly startedAt: string;
  readonly command: readonly string[];
  readonly text: string;
  readonly cpu: readonly CpuSample[];
  readonly runnerCores: number;
}

export class LocalMemtierRunner implements LoadRunner<MemtierRun> {
  readonly count = 1;

  constructor(private readonly local: LocalMemtierOptions) {}

  async run(
    { run: tool, warmUp }: LoadRequest<MemtierRun>,
    watch: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const warmed = warmUp === undefined ? [] : [await this.#once(warmUp, signal, "warm-up: ")];
    await watch.begin();
    const one = await this.#once(tool, signal);
    await watch.end();
    const { results, startedAt, cpu, runnerCores } = one;
    const { fromMs, toMs, latencies, warnings } = results;
    return {
      report: memtierReport(results, tool.mix.name),
      latencies,
      fromMs,
      toMs,
      startedAt,
      outputs: [
        ...warmed.map(({ command, text }) => ({ warmUp: true, runner: undefined, command, text })),
        { warmUp: false, runner: undefined, command: one.command, text: one.text },
      ],
      cpu: clientCpu([cpuWithin(cpu, fromMs, toMs)], {
        threads: tool.mix.threads,
        program: runnerCores,
        serversHere: this.local.serversHere,
      }),
      runners: [],
      warnings,
    };
  }

  async #once(tool: MemtierRun, signal: AbortSignal, what = ""): Promise<OneRun> {
    signal.throwIfAborted();
    const file = join(this.local.run.path, "memtier.json");
    rmSync(file, { force: true });
    const args = memtierArguments(tool, file);
    const startedAt = new Date().toISOString();
    const begun = epochMs();
    const ownCpu = process.cpuUsage();
    const { child, pid, ended } = startRecorded(this.local.run, "memtier", this.local.program, args, {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const cpu: CpuSample[] = [sampleCpu(pid, epochMs())];
    const timer = setInterval(() => cpu.push(sampleCpu(pid, epochMs())), CPU_INTERVAL_MS);
    const stop = (): void => {
      const identity = identifyProcess(pid);
      if (identity !== undefined) signalProcess(identity, "SIGKILL");
    };
    signal.addEventListener("abort", stop);
    const patience = tool.mix.length.seconds + TIMEOUT_MARGIN_SECONDS;
    const exit = await Promise.race([ended, sleep(patience * 1000, undefined, { ref: false })]);
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
    if (exit === undefined) stop();
    const end = exit ?? (await ended);
    signal.throwIfAborted();
    if (exit === undefined)
      throw new LoadGeneratorFailure(
        `${what}memtier_benchmark is still running after ${patience} s and was ended`,
        text,
        { hung: true },
      );
    if (end.code !== 0)
      throw new LoadGeneratorFailure(
        `${what}memtier_benchmark failed with ${formatExit(end)}: ${lastWords(text)}`,
        text,
      );
    const { user, system } = process.cpuUsage(ownCpu);
    try {
      const json = readFileSync(file, "utf8");
      return {
        results: parseMemtierResults(json),
        startedAt,
        command: withoutCredentials(args),
        text: `${text}\n${json}`,
        cpu,
        runnerCores: (user + system) / 1000 / (epochMs() - begun),
      };
    } catch (error) {
      throw new LoadGeneratorFailure(`${what}${messageOf(error)}`, text, { cause: error });
    }
  }
}

function lastWords(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("[RUN"));
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
