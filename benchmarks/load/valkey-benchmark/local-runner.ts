/** The load generator as a process on this machine, with its CPU and the machine's sampled beside it. */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../../lib/errors";
import { identifyProcess, signalProcess } from "../../../lib/process-identity";
import { formatExit, pinnedCommand, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import type { ValkeyBenchmarkRun } from "./arguments";
import { valkeyBenchmarkArguments, withoutSecrets } from "./arguments";
import type { ValkeyBenchmarkFeatures } from "./features";
import { parseSingleReport } from "./output";
import type { LoadReport } from "./output";
import { clientCpu } from "../client-cpu";
import { epochMs } from "../../measuring/counters";
import type { CpuSample } from "../../../platforms/host/cpu";
import { cpuWithin, sampleCpu } from "../../../platforms/host/cpu";
import { mergeReports } from "../merge-reports";
import type { LoadOutcome, ValkeyBenchmarkRequest, ValkeyBenchmarkRunner, LoadObserver } from "../load-runner";
import { runnerShare, runTimeoutSeconds, LoadGeneratorFailure } from "../load-runner";

const CPU_INTERVAL_MS = 100;

export interface LocalValkeyBenchmarkOptions {
  readonly run: RunDirectory;
  /** Path of valkey-benchmark. */
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
  /** Whether the servers run on this machine too. */
  readonly serversHere: boolean;
  /** Load generators side by side. @default 1 */
  readonly count?: number | undefined;
  /** CPUs they are held to, all of them together. @default wherever the kernel puts them */
  readonly cpus?: readonly number[] | undefined;
}

/** Load generators that have less than this part of their time in common did not run together. */
const COMMON_TIME = 0.95;

export class LocalValkeyBenchmarkRunner implements ValkeyBenchmarkRunner {
  readonly count: number;

  constructor(private readonly local: LocalValkeyBenchmarkOptions) {
    this.count = local.count ?? 1;
  }

  get features(): ValkeyBenchmarkFeatures {
    return this.local.features;
  }

  async run(
    { deployment, run: tool, warmUp }: ValkeyBenchmarkRequest,
    watch: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const name = `valkey-benchmark-${deployment.name}`;
    const warmed = warmUp === undefined ? [] : await this.#together(name, warmUp, signal, "warm-up: ");
    await watch.begin();
    const runs = await this.#together(name, tool, signal);
    await watch.end();
    const [first] = runs;
    if (first === undefined) throw new Error("there is no load generator");
    // Of the time that all have in common.
    const fromMs = Math.max(...runs.map((run) => run.fromMs));
    const toMs = Math.max(fromMs + 1, Math.min(...runs.map((run) => run.toMs)));
    const uses = runs.map(({ cpu }) => cpuWithin(cpu, fromMs, toMs));
    return {
      report: mergeReports(runs.map(({ report }) => report)),
      fromMs,
      toMs,
      startedAt: first.startedAt,
      outputs: [...warmed.map((run) => this.#output(run, true)), ...runs.map((run) => this.#output(run, false))],
      cpu: clientCpu(uses, {
        threads: tool.workload.threads * this.count,
        cores: this.local.cpus?.length,
        program: first.runnerCores,
        serversHere: this.local.serversHere,
      }),
      runners:
        this.count === 1
          ? []
          : runs.map(({ report, tool: own, index }, place) => ({
              name: runnerName(index),
              machine: hostname(),
              seed: own.seed,
              requests: report.requests,
              rps: report.rate,
              seconds: report.seconds,
              p99Ms: report.p99Ms,
              cpu: uses[place]?.process ?? null,
            })),
      warnings: apart(runs, fromMs, toMs),
    };
  }

  /** All load generators at once; when one fails the others are ended. */
  async #together(name: string, tool: ValkeyBenchmarkRun, signal: AbortSignal, what = ""): Promise<OneRun[]> {
    const failed = new AbortController();
    const all = AbortSignal.any([signal, failed.signal]);
    const runs = Array.from({ length: this.count }, (_, index) =>
      this.#once(name, runnerShare(tool, index, this.count), index, all, what),
    );
    try {
      return await Promise.all(runs);
    } catch (error) {
      failed.abort(error);
      await Promise.allSettled(runs);
      throw error;
    }
  }

  #output({ tool, text, index }: OneRun, warmUp: boolean): LoadOutcome["outputs"][number] {
    return { warmUp, runner: this.count === 1 ? undefined : runnerName(index), command: commandOf(tool), text };
  }

  async #once(
    name: string,
    tool: ValkeyBenchmarkRun,
    index: number,
    signal: AbortSignal,
    what: string,
  ): Promise<OneRun> {
    signal.throwIfAborted();
    const startedAt = new Date().toISOString();
    const begun = epochMs();
    const ownCpu = process.cpuUsage();
    const [command, ...args] = pinnedCommand(
      this.local.cpus?.join(","),
      this.local.benchmark,
      valkeyBenchmarkArguments(tool),
    );
    const child = startRecorded(this.local.run, name, command, args, { stdio: ["ignore", "pipe", "pipe"] });
    const output = new Output();
    child.child.stdout?.on("data", (chunk: Buffer) => {
      output.add(chunk.toString());
    });
    child.child.stderr?.on("data", (chunk: Buffer) => {
      output.addError(chunk.toString());
    });

    const cpu: CpuSample[] = [sampleCpu(child.pid, epochMs())];
    const cpuTimer = setInterval(() => cpu.push(sampleCpu(child.pid, epochMs())), CPU_INTERVAL_MS);
    const stop = (): void => {
      const identity = identifyProcess(child.pid);
      if (identity !== undefined) signalProcess(identity, "SIGKILL");
    };
    signal.addEventListener("abort", stop);
    const seconds = runTimeoutSeconds(tool);
    const exit = await Promise.race([child.ended, sleep(seconds * 1000, undefined, { ref: false })]);
    clearInterval(cpuTimer);
    signal.removeEventListener("abort", stop);
    if (exit === undefined) stop();
    const exitOrKilled = exit ?? (await child.ended);
    cpu.push(sampleCpu(child.pid, epochMs()));
    const runnerSeconds = process.cpuUsage(ownCpu);
    const runnerCores = (runnerSeconds.user + runnerSeconds.system) / 1000 / (epochMs() - begun);

    signal.throwIfAborted();
    if (exit === undefined)
      throw new LoadGeneratorFailure(
        `${what}valkey-benchmark is still running after ${seconds} s and was ended`,
        output.text,
        { hung: true },
      );
    if (exitOrKilled.code !== 0)
      throw new LoadGeneratorFailure(
        `${what}valkey-benchmark failed with ${formatExit(exitOrKilled)}: ${output.lastError()}`,
        output.text,
      );
    const report = reportIn(output.text);
    const toMs = output.reportedAtMs ?? epochMs();
    return {
      tool,
      index,
      report,
      fromMs: toMs - report.seconds * 1000,
      toMs,
      startedAt,
      text: output.text,
      cpu,
      runnerCores,
    };
  }
}

function commandOf(tool: ValkeyBenchmarkRun): string[] {
  return withoutSecrets(valkeyBenchmarkArguments(tool));
}

function runnerName(index: number): string {
  return `runner ${index + 1}`;
}

/** The sum of rates is that of no moment unless all ran at the same time. */
function apart(runs: readonly OneRun[], fromMs: number, toMs: number): LoadOutcome["warnings"] {
  const longest = Math.max(...runs.map((run) => run.toMs)) - Math.min(...runs.map((run) => run.fromMs));
  const part = (toMs - fromMs) / longest;
  if (part >= COMMON_TIME) return [];
  return [
    {
      code: "runners-apart",
      text: `the ${runs.length} load generators ran all at once for ${(part * 100).toFixed(1)} % of the time only`,
    },
  ];
}

interface OneRun {
  readonly tool: ValkeyBenchmarkRun;
  /** Which of the load generators, from 0. */
  readonly index: number;
  readonly report: LoadReport;
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly text: string;
  readonly cpu: readonly CpuSample[];
  /** This program's own CPU, cores. */
  readonly runnerCores: number;
}

/** @throws ToolFailure with the whole text */
function reportIn(text: string): LoadReport {
  try {
    return parseSingleReport(text);
  } catch (error) {
    throw error instanceof Failure ? new LoadGeneratorFailure(messageOf(error), text, { cause: error }) : error;
  }
}

/** What the tool prints, and when its report began: that is when it stopped counting. */
class Output {
  #out = "";
  #error = "";
  reportedAtMs: number | undefined;

  add(chunk: string): void {
    this.#out += chunk;
    if (this.reportedAtMs === undefined && this.#out.slice(-chunk.length - 8).includes("====== "))
      this.reportedAtMs = epochMs();
  }

  addError(chunk: string): void {
    this.#error += chunk;
  }

  get text(): string {
    return this.#error === "" ? this.#out : `${this.#out}\n${this.#error}`;
  }

  /** The last thing it complained of, else the last it printed. */
  lastError(): string {
    return lastLines(this.#error.trim() === "" ? this.#out : this.#error);
  }
}

function lastLines(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
