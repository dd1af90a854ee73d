/** One measurement: valkey-benchmark runs one test, and the servers' counters and everybody's CPU are sampled beside it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../connection";
import type { Deployment } from "../deployment";
import { Failure, messageOf } from "../errors";
import { describeExit, startRecorded } from "../host/processes";
import type { RunDirectory } from "../host/run-directory";
import { signalProcess, identify } from "../host/process-identity";
import type { ToolRun } from "../valkey-benchmark/arguments";
import { toolArguments, withoutSecrets } from "../valkey-benchmark/arguments";
import type { ToolReport } from "../valkey-benchmark/output";
import { parseReports } from "../valkey-benchmark/output";
import type { CounterSample } from "./counters";
import { CounterSampler, now } from "./counters";
import type { CpuSample } from "./cpu";
import { sampleCpu } from "./cpu";

/** A node whose counters are read during the measurement. */
export interface WatchedNode {
  readonly name: string;
  readonly role: "primary" | "replica";
  readonly connection: Connection;
}

export interface Measured {
  readonly report: ToolReport;
  /** By the clock of this machine, milliseconds since the epoch: the time the report counts. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly command: readonly string[];
  /** What the tool printed, untouched. */
  readonly output: string;
  /** Samples of every watched node, or why there are none. */
  readonly counters: ReadonlyMap<WatchedNode, readonly CounterSample[] | string>;
  readonly cpu: readonly CpuSample[];
  /** This program's own CPU, cores. */
  readonly runnerCores: number;
}

/** A tool that failed: what it printed goes into raw.txt all the same. */
export class ToolFailure extends Failure {
  /** Whether it did not end by itself. */
  readonly hung: boolean;

  constructor(
    message: string,
    readonly output: string,
    options: ErrorOptions & { readonly hung?: boolean } = {},
  ) {
    super(message, options);
    this.name = "ToolFailure";
    this.hung = options.hung ?? false;
  }
}

const PRIMARY_INTERVAL_MS = 200;
const REPLICA_INTERVAL_MS = 500;
const CPU_INTERVAL_MS = 100;
/** How much longer than asked for the tool may run before it is given up on, seconds. */
const PATIENCE_SECONDS = 10;

/**
 * Runs the tool once.
 * @throws ToolFailure when it fails, hangs or prints what is not understood; the signal's reason when told to stop
 */
export async function measure(
  deployment: Deployment,
  tool: ToolRun,
  nodes: readonly WatchedNode[],
  { run, benchmark, signal }: { readonly run: RunDirectory; readonly benchmark: string; readonly signal: AbortSignal },
): Promise<Measured> {
  signal.throwIfAborted();
  const samplers = new Map(nodes.map((node) => [node, new CounterSampler(node, tool.test.command, node.role === "primary" ? PRIMARY_INTERVAL_MS : REPLICA_INTERVAL_MS)]));
  await Promise.all([...samplers.values()].map((sampler) => sampler.start()));
  const args = toolArguments(tool);
  const startedAt = new Date().toISOString();
  const begun = now();
  const ownCpu = process.cpuUsage();
  const child = startRecorded(run, `valkey-benchmark-${deployment.name}`, benchmark, args, { stdio: ["ignore", "pipe", "pipe"] });
  const output = new ToolOutput();
  child.child.stdout?.on("data", (chunk: Buffer) => { output.add(chunk.toString()); });
  child.child.stderr?.on("data", (chunk: Buffer) => { output.addError(chunk.toString()); });

  const cpu: CpuSample[] = [sampleCpu(child.pid, now())];
  const cpuTimer = setInterval(() => cpu.push(sampleCpu(child.pid, now())), CPU_INTERVAL_MS);
  const stop = (): void => {
    const identity = identify(child.pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
  };
  signal.addEventListener("abort", stop);
  const patience = "seconds" in tool.length ? tool.length.seconds + PATIENCE_SECONDS : 3600;
  const exit = await Promise.race([child.ended, sleep(patience * 1000, undefined, { ref: false })]);
  clearInterval(cpuTimer);
  signal.removeEventListener("abort", stop);
  if (exit === undefined) stop();
  const exitOrKilled = exit ?? (await child.ended);
  cpu.push(sampleCpu(child.pid, now()));
  const runnerSeconds = process.cpuUsage(ownCpu);
  const runnerCores = (runnerSeconds.user + runnerSeconds.system) / 1000 / (now() - begun);
  const counters = new Map(await Promise.all([...samplers].map(async ([node, sampler]) => [node, await sampler.finish()] as const)));

  signal.throwIfAborted();
  if (exit === undefined) throw new ToolFailure(`valkey-benchmark is still running after ${patience} s and was ended`, output.text, { hung: true });
  if (exitOrKilled.code !== 0) throw new ToolFailure(`valkey-benchmark failed with ${describeExit(exitOrKilled)}: ${output.lastError()}`, output.text);
  const report = onlyReport(output.text);
  const toMs = output.reportedAtMs ?? now();
  return { report, fromMs: toMs - report.seconds * 1000, toMs, startedAt, command: withoutSecrets(args), output: output.text, counters, cpu, runnerCores };
}

function onlyReport(text: string): ToolReport {
  try {
    const reports = parseReports(text);
    const [report] = reports;
    if (report === undefined || reports.length > 1) throw new Failure(`valkey-benchmark printed ${reports.length} reports where one was asked for`);
    return report;
  } catch (error) {
    throw new ToolFailure(messageOf(error), text, { cause: error });
  }
}

/** What the tool prints, and when its report began: that is when it stopped counting. */
class ToolOutput {
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
    const lines = (this.#error.trim() === "" ? this.#out : this.#error).split(/[\r\n]+/).map((line) => line.trim()).filter((line) => line !== "");
    return lines.slice(-2).join(" / ") || "it printed nothing";
  }
}
