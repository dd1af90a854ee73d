import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TIMEOUT_MARGIN_SECONDS } from "../load-driver";
import type { LoadGenerator } from "../load-generator";
import { parsedOutput } from "../load-generator";
import type { LocalDriverOptions, LocalLoad, ReadyLoad, SentLoad } from "../local-driver";
import { LocalLoadDriver } from "../local-driver";
import type { OutputCollector } from "../local-process";
import { lastTwoLines, runLocalProcess } from "../local-process";
import { withoutSecrets } from "../valkey-benchmark/arguments";
import type { MemtierRun } from "./arguments";
import { memtierArguments } from "./arguments";
import { parseMemtierResults, memtierReport } from "./output";

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
