/** memtier_benchmark as a driver: a process on this machine, with its CPU and the machine's sampled beside it. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../lib/errors";
import { identify, signalProcess } from "../../../lib/process-identity";
import { describeExit, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { clientCpu } from "../client-cpu";
import { now } from "../../measuring/counters";
import type { CpuSample } from "../../../platforms/host/cpu";
import { cpuWithin, sampleCpu } from "../../../platforms/host/cpu";
import type { LoadRequest, LoadRunner, ToolOutcome, Watch } from "../tool-runner";
import { PATIENCE_SECONDS, ToolFailure } from "../tool-runner";
import type { MemtierRun } from "./arguments";
import { memtierArguments, withoutCredentials } from "./arguments";
import type { MemtierResults } from "./output";
import { parseResults, reportOf } from "./output";

export interface LocalMemtierTool {
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

export class LocalMemtier implements LoadRunner<MemtierRun> {
  readonly count = 1;

  constructor(private readonly local: LocalMemtierTool) {}

  async run({ tool, warmUp }: LoadRequest<MemtierRun>, watch: Watch, signal: AbortSignal): Promise<ToolOutcome> {
    const warmed = warmUp === undefined ? [] : [await this.#once(warmUp, signal, "warm-up: ")];
    await watch.begin();
    const one = await this.#once(tool, signal);
    await watch.end();
    const { results, startedAt, cpu, runnerCores } = one;
    const { fromMs, toMs, latencies, doubts } = results;
    return {
      report: reportOf(results, tool.mix.name),
      latencies,
      fromMs,
      toMs,
      startedAt,
      outputs: [...warmed.map(({ command, text }) => ({ warmUp: true, runner: undefined, command, text })), { warmUp: false, runner: undefined, command: one.command, text: one.text }],
      cpu: clientCpu([cpuWithin(cpu, fromMs, toMs)], { threads: tool.mix.threads, runner: runnerCores, serversHere: this.local.serversHere }),
      runners: [],
      doubts,
    };
  }

  async #once(tool: MemtierRun, signal: AbortSignal, what = ""): Promise<OneRun> {
    signal.throwIfAborted();
    const file = join(this.local.run.path, "memtier.json");
    rmSync(file, { force: true });
    const args = memtierArguments(tool, file);
    const startedAt = new Date().toISOString();
    const begun = now();
    const ownCpu = process.cpuUsage();
    const { child, pid, ended } = startRecorded(this.local.run, "memtier", this.local.program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const cpu: CpuSample[] = [sampleCpu(pid, now())];
    const timer = setInterval(() => cpu.push(sampleCpu(pid, now())), CPU_INTERVAL_MS);
    const stop = (): void => {
      const identity = identify(pid);
      if (identity !== undefined) signalProcess(identity, "SIGKILL");
    };
    signal.addEventListener("abort", stop);
    const patience = tool.mix.length.seconds + PATIENCE_SECONDS;
    const exit = await Promise.race([ended, sleep(patience * 1000, undefined, { ref: false })]);
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
    if (exit === undefined) stop();
    const end = exit ?? (await ended);
    signal.throwIfAborted();
    if (exit === undefined) throw new ToolFailure(`${what}memtier_benchmark is still running after ${patience} s and was ended`, text, { hung: true });
    if (end.code !== 0) throw new ToolFailure(`${what}memtier_benchmark failed with ${describeExit(end)}: ${lastWords(text)}`, text);
    const { user, system } = process.cpuUsage(ownCpu);
    try {
      const json = readFileSync(file, "utf8");
      return { results: parseResults(json), startedAt, command: withoutCredentials(args), text: `${text}\n${json}`, cpu, runnerCores: (user + system) / 1000 / (now() - begun) };
    } catch (error) {
      throw new ToolFailure(`${what}${messageOf(error)}`, text, { cause: error });
    }
  }
}

function lastWords(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("[RUN"));
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
