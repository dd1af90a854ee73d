/** valkey-benchmark as processes on this machine. */
import { formatPercent } from "../../../lib/units";
import { hostname } from "node:os";
import { epochMs } from "../../../lib/clock";
import { Failure, messageOf } from "../../../lib/errors";
import type { CpuSample, CpuUse } from "../../../platforms/host/cpu";
import { cpuWithin } from "../../../platforms/host/cpu";
import { pinnedCommand } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { clientCpu } from "../client-cpu";
import type { LoadObserver, LoadOutcome } from "../load-driver";
import type { ValkeyBenchmarkRequest, ValkeyBenchmarkDriver } from "./driver";
import { LoadGeneratorFailure } from "../load-driver";
import { runnerShare, runTimeoutSeconds } from "./driver";
import type { OutputCollector } from "../local-process";
import { lastTwoLines, runLocalProcess } from "../local-process";
import { mergeReports } from "../merge-reports";
import type { ValkeyBenchmarkRun } from "./arguments";
import { valkeyBenchmarkArguments, withoutSecrets } from "./arguments";
import type { ValkeyBenchmarkFeatures } from "./features";
import type { LoadReport } from "../load-report";
import { parseSingleReport } from "./output";

/** Options for valkey-benchmark on this machine. */
export interface LocalValkeyBenchmarkOptions {
  readonly run: RunDirectory;
  /** Path of valkey-benchmark. */
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
  /** Whether the servers also run on this machine. */
  readonly serversHere: boolean;
  /** Number of load generators that run side by side. @default 1 */
  readonly count?: number | undefined;
  /** CPUs that all load generators share. @default the kernel chooses */
  readonly cpus?: readonly number[] | undefined;
}

/**
 * Smallest share of the measured time in which all load generators must run at the same time. With a smaller share, the
 * result has a warning.
 */
const COMMON_TIME = 0.95;

/** Runs valkey-benchmark as one or several processes on this machine. */
export class LocalValkeyBenchmarkDriver implements ValkeyBenchmarkDriver {
  readonly count: number;

  constructor(private readonly options: LocalValkeyBenchmarkOptions) {
    this.count = options.count ?? 1;
  }

  get features(): ValkeyBenchmarkFeatures {
    return this.options.features;
  }

  async run(
    { deployment, run, warmUp }: ValkeyBenchmarkRequest,
    observer: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const name = `valkey-benchmark-${deployment.name}`;
    const warmUps = warmUp === undefined ? [] : await this.#runAll(name, warmUp, signal, "warm-up: ");
    await observer.begin();
    const runs = await this.#runAll(name, run, signal);
    await observer.end();
    const [first] = runs;
    if (first === undefined) throw new Error("there is no load generator");
    // The measured time is the time in which all load generators run.
    const fromMs = Math.max(...runs.map((each) => each.fromMs));
    const toMs = Math.max(fromMs + 1, Math.min(...runs.map((each) => each.toMs)));
    const uses = runs.map(({ cpu }) => cpuWithin(cpu, fromMs, toMs));
    return {
      report: mergeReports(runs.map(({ report }) => report)),
      fromMs,
      toMs,
      startedAt: first.startedAt,
      outputs: [...warmUps.map((each) => this.#output(each, true)), ...runs.map((each) => this.#output(each, false))],
      cpu: clientCpu(uses, {
        threads: run.workload.threads * this.count,
        cores: this.options.cpus?.length,
        program: first.programCores,
        serversHere: this.options.serversHere,
      }),
      runners: this.count === 1 ? [] : runs.map((each, place) => runnerOf(each, uses[place])),
      warnings: commonTimeWarnings(runs, fromMs, toMs),
    };
  }

  /** Runs all load generators at the same time. If one load generator fails, the other load generators are killed. */
  async #runAll(name: string, run: ValkeyBenchmarkRun, signal: AbortSignal, prefix = ""): Promise<OneRun[]> {
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const runs = Array.from({ length: this.count }, (_, index) =>
      this.#runOne(name, runnerShare(run, index, this.count), index, either, prefix),
    );
    try {
      return await Promise.all(runs);
    } catch (error) {
      failed.abort(error);
      await Promise.allSettled(runs);
      throw error;
    }
  }

  async #runOne(
    recordName: string,
    run: ValkeyBenchmarkRun,
    index: number,
    signal: AbortSignal,
    prefix: string,
  ): Promise<OneRun> {
    const { cpus, benchmark } = this.options;
    const [command, ...args] = pinnedCommand(cpus?.join(","), benchmark, valkeyBenchmarkArguments(run));
    const output = new ReportedOutput();
    const process = {
      run: this.options.run,
      recordName,
      title: `${prefix}valkey-benchmark`,
      command,
      args,
      timeoutSeconds: runTimeoutSeconds(run),
    };
    const ended = await runLocalProcess(process, output, signal);
    const report = reportIn(output.text);
    const toMs = output.reportedAtMs ?? epochMs();
    return { ...ended, run, index, report, fromMs: toMs - report.seconds * 1000, toMs, text: output.text };
  }

  #output({ run, text, index }: OneRun, warmUp: boolean): LoadOutcome["outputs"][number] {
    const command = withoutSecrets(valkeyBenchmarkArguments(run));
    return { warmUp, runner: this.count === 1 ? undefined : runnerName(index), command, text };
  }
}

/** One process that has ended. */
interface OneRun {
  readonly run: ValkeyBenchmarkRun;
  /** Number of the load generator, from 0. */
  readonly index: number;
  readonly report: LoadReport;
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly text: string;
  readonly cpu: readonly CpuSample[];
  readonly programCores: number;
}

function runnerName(index: number): string {
  return `runner ${index + 1}`;
}

function runnerOf({ report, run, index }: OneRun, use: CpuUse | undefined): LoadOutcome["runners"][number] {
  const { requests, rate, seconds, p99Ms } = report;
  const cpu = use?.process ?? null;
  return { name: runnerName(index), machine: hostname(), seed: run.seed, requests, rps: rate, seconds, p99Ms, cpu };
}

/**
 * Warnings about load generators that did not run at the same time. In this case, the sum of their rates is higher than
 * the real rate.
 */
function commonTimeWarnings(runs: readonly OneRun[], fromMs: number, toMs: number): LoadOutcome["warnings"] {
  const wholeMs = Math.max(...runs.map((each) => each.toMs)) - Math.min(...runs.map((each) => each.fromMs));
  const common = (toMs - fromMs) / wholeMs;
  if (common >= COMMON_TIME) return [];
  const share = `${formatPercent(common)} of the measurement`;
  const text = `the ${runs.length} load generators ran at the same time for only ${share}`;
  return [{ code: "runners-apart", text }];
}

/**
 * The only report in a text.
 * @throws LoadGeneratorFailure with the whole output if the text does not contain exactly one report
 */
function reportIn(text: string): LoadReport {
  try {
    return parseSingleReport(text);
  } catch (error) {
    throw error instanceof Failure ? new LoadGeneratorFailure(messageOf(error), text, { cause: error }) : error;
  }
}

/**
 * Collects the output of valkey-benchmark, and the time at which the report in the output began. At this time,
 * valkey-benchmark stops counting.
 */
class ReportedOutput implements OutputCollector {
  #out = "";
  #error = "";
  reportedAtMs: number | undefined;

  add(chunk: string): void {
    this.#out += chunk;
    const isHeading = this.#out.slice(-chunk.length - 8).includes("====== ");
    if (this.reportedAtMs === undefined && isHeading) this.reportedAtMs = epochMs();
  }

  addError(chunk: string): void {
    this.#error += chunk;
  }

  get text(): string {
    return this.#error === "" ? this.#out : `${this.#out}\n${this.#error}`;
  }

  /** The last lines of the error output, or of the whole output if there is no error output. */
  get lastLines(): string {
    return lastTwoLines(this.#error.trim() === "" ? this.#out : this.#error);
  }
}
