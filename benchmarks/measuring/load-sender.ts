import { randomInt } from "node:crypto";
import { messageOf } from "../../lib/errors";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import { type TestName, namedTest } from "../workloads/named-tests";
import type { Workload } from "../workloads/workload";
import { type LoadDriver, LoadGeneratorFailure } from "../load/load-driver";
import { type CountedCommands, type MeasuredLoad, type MeasuredNode, countedCommands, measure } from "./measure";
import type { LoadDrivers, MeasurementListener } from "./measurement-series";
import type { Session } from "./session";

/** Repeated if a run is interrupted, or if valkey-benchmark hangs. */
const ATTEMPTS = 2;

interface Sending<R> {
  readonly run: R;
  readonly warmUp: R | undefined;
  readonly commands: CountedCommands;
  readonly runner: LoadDriver<R>;
  readonly nodes?: readonly MeasuredNode[] | undefined;
}

interface ValkeyBenchmarkSending {
  readonly run: ValkeyBenchmarkRun;
  readonly warmUp?: ValkeyBenchmarkRun | undefined;
  readonly nodes?: readonly MeasuredNode[] | undefined;
}

/** The sender gives each run new seeds, repeats runs that hang, and reports all output. */
export class LoadSender {
  readonly #firstSeed = randomInt(1, 1_000_000_000);
  #seedsTaken = 0;

  constructor(
    readonly runners: LoadDrivers,
    private readonly listener: Pick<MeasurementListener, "progress" | "raw">,
  ) {}

  nextSeed(): number {
    const seed = this.#firstSeed + this.#seedsTaken;
    this.#seedsTaken += this.runners.valkeyBenchmark.count;
    return seed;
  }

  namedTestRun({ deployment, endpoint, user }: Session, testName: TestName, workload: Workload): ValkeyBenchmarkRun {
    return {
      mode: deployment.mode,
      endpoint,
      test: namedTest(testName),
      workload,
      length: workload.length,
      seed: this.nextSeed(),
      credentials: user,
      tls: deployment.access.tls,
    };
  }

  /** Sent once more if a machine of the load generators is lost. @param label for progress and raw output */
  async send<R>(label: string, session: Session, sending: Sending<R>): Promise<MeasuredLoad> {
    const { run, warmUp, commands, runner, nodes = session.nodes } = sending;
    const request = { deployment: session.deployment, primary: session.primary, run, warmUp };
    const measured = await this.#uninterrupted(label, () =>
      measure(request, commands, nodes, runner, this.runners.signal),
    );
    for (const output of measured.outputs) {
      const phase = output.warmUp ? ", warm-up" : "";
      const place = output.runner === undefined ? "" : `, ${output.runner}`;
      this.listener.raw(`${label}${phase}${place}: ${output.command.join(" ")}`, output.text);
    }
    return measured;
  }

  /** Sent once more if valkey-benchmark hangs. The output of both attempts is reported. @throws LoadGeneratorFailure */
  async sendByValkeyBenchmark(label: string, session: Session, sending: ValkeyBenchmarkSending): Promise<MeasuredLoad> {
    const { run, warmUp, nodes = [] } = sending;
    const whole = { run, warmUp, nodes, commands: countedCommands(run), runner: this.runners.valkeyBenchmark };
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.send(label, session, whole);
      } catch (error) {
        if (!(error instanceof LoadGeneratorFailure)) throw error;
        this.listener.raw(`${label}: failed`, error.output);
        if (!error.hung || attempt === ATTEMPTS) {
          throw new LoadGeneratorFailure(`${label}: ${messageOf(error)}`, error.output, {
            hung: error.hung,
            interrupted: error.interrupted,
            cause: error,
          });
        }
        this.listener.progress(`${label}: valkey-benchmark hung and was killed; starting it again`);
      }
    }
  }

  async #uninterrupted<T>(label: string, run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof LoadGeneratorFailure) || !error.interrupted || attempt === ATTEMPTS) throw error;
        this.listener.raw(`${label}: interrupted`, error.output);
        this.listener.progress(`${label}: ${messageOf(error)}; measuring it again`);
      }
    }
  }
}
