import { epochMs } from "../../../lib/clock";
import { pinnedCommand } from "../../../platforms/host/processes";
import { type LoadDriver, TIMEOUT_MARGIN_SECONDS } from "../load-driver";
import { type LoadGenerator, parsedOutput } from "../load-generator";
import type { LocalDriverOptions, LocalLoad, ReadyLoad, SentLoad } from "../local-driver";
import { LocalLoadDriver } from "../local-driver";
import { type OutputCollector, lastTwoLines, runLocalProcess } from "../local-process";
import { type ValkeyBenchmarkRun, valkeyBenchmarkArguments, withoutSecrets } from "./arguments";
import type { ValkeyBenchmarkFeatures } from "./features";
import { parseSingleReport } from "./output";

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
