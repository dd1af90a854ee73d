/** One test of a workload on one deployment, through our runner as often as is wanted. */
import { Failure } from "../../lib/errors";
import { namedTestRecord } from "../../benchmarks/measuring/measurement-records";
import type { MeasuredLoad } from "../../benchmarks/measuring/measure";
import { countedCommands, measure } from "../../benchmarks/measuring/measure";
import type { Session } from "../../benchmarks/measuring/session";
import type { ValkeyBenchmarkRunner } from "../../benchmarks/load/load-runner";
import type { MeasurementRecord } from "../../benchmarks/results/schema";
import type { ValkeyBenchmarkRun } from "../../benchmarks/load/valkey-benchmark/arguments";
import type { TestName } from "../../benchmarks/workloads/named-tests";
import { namedTest } from "../../benchmarks/workloads/named-tests";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { BenchServers } from "./workbench";

/** What is sent of each test. */
export type LoadSettings = Omit<Workload, "tests">;

export class DirectLoad {
  #seed = Date.now() % 1_000_000_000;
  #rounds = 0;

  private constructor(
    private readonly session: Session,
    private readonly sending: LoadSettings,
    readonly test: TestName,
    private readonly runner: ValkeyBenchmarkRunner,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Puts the keys in place and warms up.
   * @throws Failure where rates could be had only in ticks, which is not what is to be compared
   */
  static async ready(
    { host, runner, signal }: BenchServers,
    session: Session,
    sending: LoadSettings,
    test: TestName,
  ): Promise<DirectLoad> {
    if (!runner.features.duration)
      throw new Failure(
        `valkey-benchmark ${host.programs.version} cannot be told a duration (9.1 can); these need none: npm run bench -- formation verification plan`,
      );
    await session.prepareKeys(
      namedTest(test),
      { keySpace: sending.keySpace, dataSize: sending.dataSize, stock: 0 },
      signal,
    );
    const load = new DirectLoad(session, sending, test, runner, signal);
    await load.#measure({ ...load.tool(), length: { seconds: sending.warmup } });
    return load;
  }

  async byRunner(): Promise<{ readonly measured: MeasuredLoad; readonly record: MeasurementRecord }> {
    const tool = this.tool();
    const measured = await this.#measure(tool);
    const context = {
      deployment: this.session.deployment,
      testName: this.test,
      run: tool,
      round: ++this.#rounds,
      ranEmpty: false,
    };
    return { measured, record: namedTestRecord(measured, context) };
  }

  /** The next run of the tool, with a seed of its own. */
  tool(): ValkeyBenchmarkRun {
    const { endpoint, user, deployment } = this.session;
    return {
      mode: deployment.mode,
      endpoint,
      test: namedTest(this.test),
      workload: { ...this.sending, tests: [this.test] },
      length: this.sending.length,
      seed: this.#seed++,
      credentials: user,
      tls: undefined,
    };
  }

  #measure(tool: ValkeyBenchmarkRun): Promise<MeasuredLoad> {
    const { deployment, primary, nodes } = this.session;
    return measure(
      { deployment, primary, run: tool, warmUp: undefined },
      countedCommands(tool),
      nodes,
      this.runner,
      this.signal,
    );
  }
}
