/** One named test on one deployment, measured as often as wanted. */
import { Failure } from "../../lib/errors";
import { namedTestRecord } from "../../benchmarks/measuring/measurement-records";
import type { MeasuredLoad } from "../../benchmarks/measuring/measure";
import { countedCommands, measure } from "../../benchmarks/measuring/measure";
import type { Session } from "../../benchmarks/measuring/session";
import type { ValkeyBenchmarkDriver } from "../../benchmarks/load/valkey-benchmark/driver";
import type { MeasurementRecord } from "../../benchmarks/results/schema";
import type { ValkeyBenchmarkRun } from "../../benchmarks/load/valkey-benchmark/arguments";
import type { TestName } from "../../benchmarks/workloads/named-tests";
import { namedTest } from "../../benchmarks/workloads/named-tests";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { BenchServers } from "./workbench";

/** How a test is sent. */
export type LoadSettings = Omit<Workload, "tests">;

/** Measures one named test without a series around it. */
export class DirectLoad {
  #seed = Date.now() % 1_000_000_000;
  #rounds = 0;

  private constructor(
    private readonly session: Session,
    private readonly settings: LoadSettings,
    readonly test: TestName,
    private readonly runner: ValkeyBenchmarkDriver,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Writes the keys and warms up.
   * @throws Failure when valkey-benchmark has no --duration: its rates are then exact only to a tick of its clock
   */
  static async ready(
    { host, runner, signal }: BenchServers,
    session: Session,
    settings: LoadSettings,
    test: TestName,
  ): Promise<DirectLoad> {
    if (!runner.features.duration)
      throw new Failure(
        `valkey-benchmark ${host.programs.version} has no --duration (9.1 has); ` +
          "rows without it: npm run bench -- formation verification plan",
      );
    await session.prepareKeys(
      namedTest(test),
      { keySpace: settings.keySpace, dataSize: settings.dataSize, stock: 0 },
      signal,
    );
    const load = new DirectLoad(session, settings, test, runner, signal);
    await load.#measure({ ...load.nextRun(), length: { seconds: settings.warmup } });
    return load;
  }

  /** Measures once, with a seed of its own. */
  async byRunner(): Promise<{ readonly measured: MeasuredLoad; readonly record: MeasurementRecord }> {
    const run = this.nextRun();
    const measured = await this.#measure(run);
    const context = {
      deployment: this.session.deployment,
      testName: this.test,
      run,
      round: ++this.#rounds,
      ranEmpty: false,
    };
    return { measured, record: namedTestRecord(measured, context) };
  }

  /** The next run of valkey-benchmark, with a seed of its own. */
  nextRun(): ValkeyBenchmarkRun {
    const { endpoint, user, deployment } = this.session;
    return {
      mode: deployment.mode,
      endpoint,
      test: namedTest(this.test),
      workload: { ...this.settings, tests: [this.test] },
      length: this.settings.length,
      seed: this.#seed++,
      credentials: user,
      tls: undefined,
    };
  }

  #measure(run: ValkeyBenchmarkRun): Promise<MeasuredLoad> {
    const { deployment, primary, nodes } = this.session;
    return measure(
      { deployment, primary, run, warmUp: undefined },
      countedCommands(run),
      nodes,
      this.runner,
      this.signal,
    );
  }
}
