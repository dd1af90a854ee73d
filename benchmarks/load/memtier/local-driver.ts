import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TIMEOUT_MARGIN_SECONDS, type LoadReport } from "../load-driver";
import { type LoadGenerator, parsedOutput } from "../load-generator";
import type { LocalDriverOptions, LocalLoad, ReadyLoad, SentLoad } from "../local-driver";
import { LocalLoadDriver } from "../local-driver";
import { type OutputCollector, lastTwoLines, runLocalProcess } from "../local-process";
import { withoutSecrets } from "../valkey-benchmark/arguments";
import { type MemtierRun, memtierArguments } from "./arguments";
import { z } from "zod";
import { Failure, messageOf } from "../../../lib/errors";
import { Histogram } from "../../../lib/histogram";
import { latencySummary } from "../merge-reports";
import type { Warning } from "../../results/schema";

export const MEMTIER_RESULT = "memtier.json";

export const MEMTIER = {
  program: "memtier_benchmark",
  threads: ({ mix }) => mix.threads,
  timeoutSeconds: ({ mix }) => mix.length.seconds + TIMEOUT_MARGIN_SECONDS,
  // The results are the last part of the text.
  parse: (text, { mix }) => {
    const results = parseMemtierResults(text.slice(Math.max(0, text.search(/^\{$/m))));
    const { latencies, warnings, fromMs, toMs } = results;
    return { report: memtierReport(results, mix.name), latencies, warnings, period: { fromMs, toMs } };
  },
} satisfies LoadGenerator<MemtierRun>;

export class LocalMemtierDriver extends LocalLoadDriver<MemtierRun> {
  readonly #program: string;

  constructor({ program, ...options }: LocalDriverOptions & { readonly program: string }) {
    super(MEMTIER, options);
    this.#program = program;
  }

  protected ready(load: LocalLoad<MemtierRun>): Promise<ReadyLoad> {
    return Promise.resolve({ send: () => this.#send(load) });
  }

  async #send({ run, prefix, signal }: LocalLoad<MemtierRun>): Promise<SentLoad> {
    const file = join(this.options.run.path, MEMTIER_RESULT);
    rmSync(file, { force: true });
    const args = memtierArguments(run, file);
    const collector = new WholeOutput();
    const title = `${prefix}${MEMTIER.program}`;
    const process = {
      run: this.options.run,
      recordName: "memtier",
      title,
      command: this.#program,
      args,
      timeoutSeconds: MEMTIER.timeoutSeconds(run),
    };
    const ended = await runLocalProcess(process, collector, signal);
    const json = parsedOutput(() => readFileSync(file, "utf8"), collector.text, `${title}: `);
    const output = parsedOutput(() => MEMTIER.parse(json, run), collector.text, `${title}: `);
    const { fromMs, toMs } = output.period;
    const raw = { command: withoutSecrets(args), text: `${collector.text}\n${json}` };
    // memtier_benchmark takes its seed from the machine's source of randomness.
    return { ...ended, output, seed: 0, fromMs, toMs, raw };
  }
}

class WholeOutput implements OutputCollector {
  text = "";

  add(chunk: string): void {
    this.text += chunk;
  }

  addError(chunk: string): void {
    this.text += chunk;
  }

  get lastLines(): string {
    return lastTwoLines(this.text, (line) => !line.startsWith("[RUN"));
  }
}

const totals = z.object({
  "Connection Errors": z.number().default(0),
  "Percentile Latencies": z.object({ "Histogram log format": z.object({ "Compressed Histogram": z.string() }) }),
});

const resultsSchema = z.object({
  "ALL STATS": z.object({
    Runtime: z.object({ "Start time": z.number(), "Finish time": z.number(), "Total duration": z.number() }),
    Totals: totals,
  }),
});

interface MemtierResults {
  readonly fromMs: number;
  /** End time by the clock of memtier_benchmark, milliseconds since the epoch. */
  readonly toMs: number;
  readonly warnings: readonly Warning[];
  /** The totals that memtier_benchmark prints are not used: they omit replies that arrive in its last second. */
  readonly latencies: Histogram;
}

export function parseMemtierResults(text: string): MemtierResults {
  let results: z.infer<typeof resultsSchema>;
  try {
    results = resultsSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Failure(`cannot read the results of memtier_benchmark (2.0 or newer is needed): ${messageOf(error)}`, {
      cause: error,
    });
  }
  const { Runtime: runtime, Totals: all } = results["ALL STATS"];
  const latencies = Histogram.decode(all["Percentile Latencies"]["Histogram log format"]["Compressed Histogram"]);
  // memtier_benchmark exits with status 0 even if no server listens.
  if (latencies.count === 0) throw new Failure("memtier_benchmark received no reply");
  return {
    fromMs: runtime["Start time"],
    toMs: runtime["Start time"] + runtime["Total duration"],
    warnings: connectionWarnings(all["Connection Errors"]),
    latencies,
  };
}

function connectionWarnings(lost: number): Warning[] {
  if (lost === 0) return [];
  return [{ code: "errors", text: `memtier_benchmark lost ${lost} connections during the measurement` }];
}

function memtierReport({ fromMs, toMs, latencies }: MemtierResults, title: string): LoadReport {
  const seconds = Math.max(1, toMs - fromMs) / 1000;
  return { ...latencySummary(title, latencies), requests: latencies.count, rate: latencies.count / seconds, seconds };
}
