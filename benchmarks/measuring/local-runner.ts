/** The load generator as a process on this machine, with its CPU and the machine's sampled beside it. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../errors";
import { identify, signalProcess } from "../host/process-identity";
import { describeExit, startRecorded } from "../host/processes";
import type { RunDirectory } from "../host/run-directory";
import type { ToolRun } from "../valkey-benchmark/arguments";
import { toolArguments, withoutSecrets } from "../valkey-benchmark/arguments";
import type { ToolFeatures } from "../valkey-benchmark/features";
import { onlyReport } from "../valkey-benchmark/output";
import type { ToolReport } from "../valkey-benchmark/output";
import { now } from "./counters";
import type { CpuSample } from "./cpu";
import { availableCores, cpuWithin, sampleCpu } from "./cpu";
import type { ToolOutcome, ToolRequest, ToolRunner, Watch } from "./tool-runner";
import { patience, ToolFailure } from "./tool-runner";

const CPU_INTERVAL_MS = 100;

export interface LocalTool {
  readonly run: RunDirectory;
  /** Path of valkey-benchmark. */
  readonly benchmark: string;
  readonly features: ToolFeatures;
  /** Whether the servers run on this machine too. */
  readonly serversHere: boolean;
}

export class LocalRunner implements ToolRunner {
  readonly count = 1;

  constructor(private readonly local: LocalTool) {}

  get features(): ToolFeatures {
    return this.local.features;
  }

  async run({ deployment, tool, warmUp }: ToolRequest, watch: Watch, signal: AbortSignal): Promise<ToolOutcome> {
    const name = `valkey-benchmark-${deployment.name}`;
    const warmed = warmUp === undefined ? [] : [{ warmUp: true, runner: undefined, command: commandOf(warmUp), text: (await this.#once(name, warmUp, signal, "warm-up: ")).text }];
    await watch.begin();
    const { report, fromMs, toMs, startedAt, text, cpu, runnerCores } = await this.#once(name, tool, signal);
    await watch.end();
    const use = cpuWithin(cpu, fromMs, toMs);
    const machineCores = availableCores();
    return {
      report,
      fromMs,
      toMs,
      startedAt,
      outputs: [...warmed, { warmUp: false, runner: undefined, command: commandOf(tool), text }],
      cpu: {
        client: use.process ?? null,
        clientLimit: Math.min(tool.workload.threads, machineCores),
        runner: runnerCores,
        serversHere: this.local.serversHere,
        machineBusy: use.machineBusy ?? null,
        machineStolen: use.machineStolen ?? null,
        machineCores,
      },
      runners: [],
      doubts: [],
    };
  }

  async #once(name: string, tool: ToolRun, signal: AbortSignal, what = ""): Promise<OneRun> {
    signal.throwIfAborted();
    const startedAt = new Date().toISOString();
    const begun = now();
    const ownCpu = process.cpuUsage();
    const child = startRecorded(this.local.run, name, this.local.benchmark, toolArguments(tool), { stdio: ["ignore", "pipe", "pipe"] });
    const output = new Output();
    child.child.stdout?.on("data", (chunk: Buffer) => { output.add(chunk.toString()); });
    child.child.stderr?.on("data", (chunk: Buffer) => { output.addError(chunk.toString()); });

    const cpu: CpuSample[] = [sampleCpu(child.pid, now())];
    const cpuTimer = setInterval(() => cpu.push(sampleCpu(child.pid, now())), CPU_INTERVAL_MS);
    const stop = (): void => {
      const identity = identify(child.pid);
      if (identity !== undefined) signalProcess(identity, "SIGKILL");
    };
    signal.addEventListener("abort", stop);
    const seconds = patience(tool);
    const exit = await Promise.race([child.ended, sleep(seconds * 1000, undefined, { ref: false })]);
    clearInterval(cpuTimer);
    signal.removeEventListener("abort", stop);
    if (exit === undefined) stop();
    const exitOrKilled = exit ?? (await child.ended);
    cpu.push(sampleCpu(child.pid, now()));
    const runnerSeconds = process.cpuUsage(ownCpu);
    const runnerCores = (runnerSeconds.user + runnerSeconds.system) / 1000 / (now() - begun);

    signal.throwIfAborted();
    if (exit === undefined) throw new ToolFailure(`${what}valkey-benchmark is still running after ${seconds} s and was ended`, output.text, { hung: true });
    if (exitOrKilled.code !== 0) throw new ToolFailure(`${what}valkey-benchmark failed with ${describeExit(exitOrKilled)}: ${output.lastError()}`, output.text);
    const report = reportIn(output.text);
    const toMs = output.reportedAtMs ?? now();
    return { report, fromMs: toMs - report.seconds * 1000, toMs, startedAt, text: output.text, cpu, runnerCores };
  }
}

function commandOf(tool: ToolRun): string[] {
  return withoutSecrets(toolArguments(tool));
}

interface OneRun {
  readonly report: ToolReport;
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly text: string;
  readonly cpu: readonly CpuSample[];
  /** This program's own CPU, cores. */
  readonly runnerCores: number;
}

/** @throws ToolFailure with the whole text */
function reportIn(text: string): ToolReport {
  try {
    return onlyReport(text);
  } catch (error) {
    throw error instanceof Failure ? new ToolFailure(messageOf(error), text, { cause: error }) : error;
  }
}

/** What the tool prints, and when its report began: that is when it stopped counting. */
class Output {
  #out = "";
  #error = "";
  reportedAtMs: number | undefined;

  add(chunk: string): void {
    this.#out += chunk;
    if (this.reportedAtMs === undefined && this.#out.slice(-chunk.length - 8).includes("====== ")) this.reportedAtMs = now();
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
  const lines = text.split(/[\r\n]+/).map((line) => line.trim()).filter((line) => line !== "");
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
