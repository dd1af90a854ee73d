import { hostname } from "node:os";
import { type CpuUse, availableCores, cpuWithin } from "../../platforms/host/cpu";
import type { RunDirectory } from "../../platforms/host/run-directory";
import type { Deployment } from "../../valkey/deployment";
import type { ClientCpu, LoadDriver, LoadObserver, LoadOutcome, LoadRequest } from "./load-driver";
import type { GeneratorMeasurement, LoadGenerator } from "./load-generator";
import { commonTimeWarnings, mergeOutputs, recordedRunner } from "./load-generator";
import type { EndedProcess } from "./local-process";

export interface LocalDriverOptions {
  readonly run: RunDirectory;
  readonly serversHere: boolean;
  readonly count?: number | undefined;
  readonly cpus?: readonly number[] | undefined;
}

export interface LocalLoad<R> {
  readonly deployment: Deployment;
  readonly run: R;
  readonly index: number;
  /** Beginning of the program's name in messages: `warm-up: `; empty for the measured run. */
  readonly prefix: string;
  readonly signal: AbortSignal;
}

export interface ReadyLoad {
  /** @throws LoadGeneratorFailure when the load generator fails or hangs; the signal's reason if it is aborted */
  readonly send: () => Promise<SentLoad>;
  readonly close?: () => Promise<void>;
}

export interface SentLoad extends EndedProcess, Pick<GeneratorMeasurement, "seed" | "output" | "fromMs" | "toMs"> {
  readonly raw: { readonly command: readonly string[]; readonly text: string } | undefined;
}

export abstract class LocalLoadDriver<R> implements LoadDriver<R> {
  readonly count: number;

  constructor(
    private readonly generator: Pick<LoadGenerator<R>, "threads">,
    protected readonly options: LocalDriverOptions,
  ) {
    this.count = options.count ?? 1;
  }

  async run(
    { deployment, run, warmUp }: LoadRequest<R>,
    observer: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const warmUps =
      warmUp === undefined ? [] : await this.#sendAll({ deployment, run: warmUp, prefix: "warm-up: " }, signal);
    const sent = await this.#sendAll({ deployment, run, prefix: "" }, signal, observer);
    const [first] = sent;
    if (first === undefined) throw new Error("there is no load generator");
    // The measured time is the time in which all load generators run.
    const fromMs = Math.max(...sent.map((each) => each.fromMs));
    const toMs = Math.max(fromMs + 1, Math.min(...sent.map((each) => each.toMs)));
    const uses = sent.map(({ cpu }) => cpuWithin(cpu, fromMs, toMs));
    return {
      ...mergeOutputs(sent.map(({ output }) => output)),
      fromMs,
      toMs,
      startedAt: first.startedAt,
      outputs: [...this.#outputs(warmUps, true), ...this.#outputs(sent, false)],
      cpu: this.#cpu(uses, this.generator.threads(run), first.programCores),
      runners: this.count === 1 ? [] : sent.map((each, index) => this.#runner(each, index, uses[index])),
      warnings: [
        ...sent.flatMap(({ output }) => output.warnings),
        ...(this.count === 1
          ? []
          : commonTimeWarnings(sent, (part) => `the ${this.count} load generators ran at the same time for ${part}`)),
      ],
    };
  }

  protected abstract ready(load: LocalLoad<R>): Promise<ReadyLoad>;

  /** If one load generator fails, the other load generators are killed. */
  async #sendAll(
    load: Pick<LocalLoad<R>, "deployment" | "run" | "prefix">,
    signal: AbortSignal,
    observer?: LoadObserver,
  ): Promise<SentLoad[]> {
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const ready = await Promise.all(
      Array.from({ length: this.count }, (_, index) => this.ready({ ...load, index, signal: either })),
    );
    let sending: Promise<SentLoad>[] = [];
    try {
      await observer?.begin();
      sending = ready.map(({ send }) => send());
      const sent = await Promise.all(sending);
      await observer?.end();
      return sent;
    } catch (error) {
      failed.abort(error);
      await Promise.allSettled(sending);
      throw error;
    } finally {
      for (const { close } of ready) await close?.();
    }
  }

  #outputs(sent: readonly SentLoad[], warmUp: boolean): LoadOutcome["outputs"] {
    return sent.flatMap(({ raw }, index) =>
      raw === undefined ? [] : [{ warmUp, runner: this.count === 1 ? undefined : runnerName(index), ...raw }],
    );
  }

  #runner(sent: SentLoad, index: number, use: CpuUse | undefined): LoadOutcome["runners"][number] {
    return recordedRunner({ ...sent, name: runnerName(index), machine: hostname(), cpu: use?.process ?? null });
  }

  #cpu(uses: readonly CpuUse[], threads: number, program: number): ClientCpu {
    const known = uses.flatMap(({ process }) => process ?? []);
    const machineCores = availableCores();
    return {
      client: known.length === uses.length ? known.reduce((sum, each) => sum + each, 0) : null,
      clientLimit: Math.min(threads * this.count, this.options.cpus?.length ?? machineCores),
      program,
      serversHere: this.options.serversHere,
      machineBusy: uses[0]?.machineBusy ?? null,
      machineStolen: uses[0]?.machineStolen ?? null,
      machineCores,
    };
  }
}

function runnerName(index: number): string {
  return `runner ${index + 1}`;
}
