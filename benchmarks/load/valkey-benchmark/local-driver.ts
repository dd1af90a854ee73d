import { epochMs } from "../../../lib/clock";
import { pinnedCommand } from "../../../platforms/host/processes";
import { type LoadDriver, type LoadReport, TIMEOUT_MARGIN_SECONDS } from "../load-driver";
import { type LoadGenerator, parsedOutput } from "../load-generator";
import {
  type LocalDriverOptions,
  type LocalLoad,
  type ReadyLoad,
  type SentLoad,
  LocalLoadDriver,
} from "../local-driver";
import { type OutputCollector, lastTwoLines, runLocalProcess } from "../local-process";
import {
  type ValkeyBenchmarkRun,
  type ValkeyBenchmarkFeatures,
  valkeyBenchmarkArguments,
  withoutSecrets,
} from "./arguments";
import { Failure } from "../../../lib/errors";
import type { CumulativeCount } from "../../../lib/histogram";

export interface ValkeyBenchmarkDriver extends LoadDriver<ValkeyBenchmarkRun> {
  readonly features: ValkeyBenchmarkFeatures;
}

const REQUESTS_TIMEOUT_SECONDS = 3600;

export const VALKEY_BENCHMARK: LoadGenerator<ValkeyBenchmarkRun> = {
  program: "valkey-benchmark",
  threads: ({ workload }) => workload.threads,
  timeoutSeconds: ({ length }) =>
    "seconds" in length ? length.seconds + TIMEOUT_MARGIN_SECONDS : REQUESTS_TIMEOUT_SECONDS,
  parse: (text) => ({ report: parseSingleReport(text), warnings: [] }),
};

export function runnerShare(run: ValkeyBenchmarkRun, index: number, count: number): ValkeyBenchmarkRun {
  const part = (whole: number): number => Math.floor(whole / count) + (index < whole % count ? 1 : 0);
  const { rate } = run.workload;
  return {
    ...run,
    seed: run.seed + index,
    length: "requests" in run.length ? { requests: part(run.length.requests) } : run.length,
    workload: { ...run.workload, rate: rate === undefined ? undefined : part(rate) },
  };
}

export interface LocalValkeyBenchmarkOptions extends LocalDriverOptions {
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
}

export class LocalValkeyBenchmarkDriver extends LocalLoadDriver<ValkeyBenchmarkRun> implements ValkeyBenchmarkDriver {
  readonly features: ValkeyBenchmarkFeatures;
  readonly #benchmark: string;

  constructor({ benchmark, features, ...options }: LocalValkeyBenchmarkOptions) {
    super(VALKEY_BENCHMARK, options);
    this.features = features;
    this.#benchmark = benchmark;
  }

  protected ready(load: LocalLoad<ValkeyBenchmarkRun>): Promise<ReadyLoad> {
    return Promise.resolve({ send: () => this.#send(load) });
  }

  async #send({ deployment, run: whole, index, prefix, signal }: LocalLoad<ValkeyBenchmarkRun>): Promise<SentLoad> {
    const run = runnerShare(whole, index, this.count);
    const args = valkeyBenchmarkArguments(run);
    const [command, ...rest] = pinnedCommand(this.options.cpus?.join(","), this.#benchmark, args);
    const collector = new ReportedOutput();
    const process = {
      run: this.options.run,
      recordName: `valkey-benchmark-${deployment.name}`,
      title: `${prefix}valkey-benchmark`,
      command,
      args: rest,
      timeoutSeconds: VALKEY_BENCHMARK.timeoutSeconds(run),
    };
    const ended = await runLocalProcess(process, collector, signal);
    const { text, reportedAtMs: toMs = epochMs() } = collector;
    const output = parsedOutput(() => VALKEY_BENCHMARK.parse(text, run), text, "");
    const fromMs = toMs - output.report.seconds * 1000;
    return { ...ended, output, seed: run.seed, fromMs, toMs, raw: { command: withoutSecrets(args), text } };
  }
}

/** Also the time at which the report began: then valkey-benchmark stops counting. */
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

  get lastLines(): string {
    return lastTwoLines(this.#error.trim() === "" ? this.#out : this.#error);
  }
}

/** Printed values of one latency, ms, differ: the last digit is rounded, and a histogram has only three digits. */
const SAME_MS = 0.002;
const SAME_PART = 0.002;

const REPORT = /^====== (.*) ======$/;
const COUNT_LINE = /^\d+\.\d+% <= (\d+\.\d+) milliseconds \(cumulative count (\d+)\)$/;

export function parseReports(text: string): LoadReport[] {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trimEnd());
  const starts = lines.flatMap((line, index) => (REPORT.test(line) ? [index] : []));
  if (starts.length === 0) throw cannotRead("no report", text);
  return starts.map((start, index) => parseReport(lines.slice(start, starts[index + 1])));
}

export function parseSingleReport(text: string): LoadReport {
  const reports = parseReports(text);
  const [report] = reports;
  if (report === undefined || reports.length > 1)
    throw new Failure(`valkey-benchmark printed ${reports.length} reports; expected one`);
  return report;
}

function parseReport(lines: readonly string[]): LoadReport {
  const text = lines.join("\n");
  const match = (pattern: RegExp, what: string): RegExpExecArray => {
    const found = pattern.exec(text);
    if (found === null) throw cannotRead(`no ${what}`, text);
    return found;
  };
  const number = (value: string | undefined, what: string): number => {
    const result = Number(value);
    if (value === undefined || !Number.isFinite(result)) throw cannotRead(`${what} is ${value ?? "missing"}`, text);
    return result;
  };
  const requests = number(
    match(/^ {2}(\d+) requests completed in \S+ seconds$/m, "count of requests")[1],
    "the count of requests",
  );
  const rate = number(
    match(/^ {2}throughput summary: (\S+) requests per second$/m, "throughput summary")[1],
    "the throughput",
  );
  // With `--rps`, a table of rates with the same column titles comes before it.
  const summary = match(
    /^ *latency summary \(msec\):\n *avg +min +p50 +p95 +p99 +max\n *(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)$/m,
    "latency summary",
  );
  const [avgMs = 0, minMs = 0, p50Ms = 0, p95Ms = 0, p99Ms = 0, maxMs = 0] = summary
    .slice(1)
    .map((value) => number(value, "a latency"));
  const percentiles = countsUnder(lines, "Latency by percentile distribution:");
  const cumulative = countsUnder(lines, "Cumulative distribution of latencies:");
  if (percentiles.length === 0 || cumulative.length === 0) throw cannotRead("no distribution of latencies", text);
  const slowest = percentiles.at(-1)?.ms ?? NaN;
  if (Math.abs(maxMs - slowest) > SAME_MS + SAME_PART * slowest)
    throw cannotRead(`the maximum is ${maxMs} ms in the summary and ${slowest} ms in the distribution`, text);
  return {
    title: REPORT.exec(lines[0] ?? "")?.[1] ?? "",
    requests,
    rate,
    seconds: requests / rate,
    avgMs,
    minMs,
    p50Ms,
    p95Ms,
    p99Ms,
    maxMs,
    percentiles,
    cumulative,
  };
}

function countsUnder(lines: readonly string[], heading: string): CumulativeCount[] {
  const counts: CumulativeCount[] = [];
  for (const line of lines.slice(lines.indexOf(heading) + 1)) {
    const match = COUNT_LINE.exec(line);
    if (match === null) break;
    counts.push({ ms: Number(match[1]), count: Number(match[2]) });
  }
  return counts;
}

function cannotRead(what: string, text: string): Failure {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/\brps=/.test(line));
  const quoted = lines
    .slice(-3)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join("\n");
  const where = quoted === "" ? " in empty output" : ` in\n${quoted}`;
  return new Failure(`cannot read the output of valkey-benchmark: ${what}${where}`);
}
