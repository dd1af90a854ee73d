/** One test of a workload on one deployment, through our runner as often as is wanted. */
import { Failure } from "../../lib/errors";
import { recordOf } from "../../benchmarks/measuring/evidence";
import type { Measured } from "../../benchmarks/measuring/measure";
import { countedOf, measure } from "../../benchmarks/measuring/measure";
import type { Session } from "../../benchmarks/measuring/session";
import type { ToolRunner } from "../../benchmarks/load/tool-runner";
import type { MeasurementRecord } from "../../benchmarks/results/schema";
import type { ToolRun } from "../../benchmarks/load/valkey-benchmark/arguments";
import type { TestName } from "../../benchmarks/workloads/named-tests";
import { namedTest } from "../../benchmarks/workloads/named-tests";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { Servers } from "./workbench";

/** What is sent of each test. */
export type Sending = Omit<Workload, "tests">;

export class Load {
  #seed = Date.now() % 1_000_000_000;
  #rounds = 0;

  private constructor(
    private readonly session: Session,
    private readonly sending: Sending,
    readonly test: TestName,
    private readonly runner: ToolRunner,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Puts the keys in place and warms up.
   * @throws Failure where rates could be had only in ticks, which is not what is to be compared
   */
  static async ready({ host, runner, signal }: Servers, session: Session, sending: Sending, test: TestName): Promise<Load> {
    if (!runner.features.duration) throw new Failure(`valkey-benchmark ${host.programs.version} cannot be told a duration (9.1 can); these need none: npm run bench -- formation verification plan`);
    await session.prepare(namedTest(test), { keySpace: sending.keySpace, dataSize: sending.dataSize, stock: 0 }, signal);
    const load = new Load(session, sending, test, runner, signal);
    await load.#measure({ ...load.tool(), length: { seconds: sending.warmup } });
    return load;
  }

  async byRunner(): Promise<{ readonly measured: Measured; readonly record: MeasurementRecord }> {
    const tool = this.tool();
    const measured = await this.#measure(tool);
    const context = { deployment: this.session.deployment, testName: this.test, tool, round: ++this.#rounds, ranEmpty: false };
    return { measured, record: recordOf(measured, context) };
  }

  /** The next run of the tool, with a seed of its own. */
  tool(): ToolRun {
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

  #measure(tool: ToolRun): Promise<Measured> {
    const { deployment, primary, nodes } = this.session;
    return measure({ deployment, primary, tool, warmUp: undefined }, countedOf(tool), nodes, this.runner, this.signal);
  }
}
