import { effectiveLength, type ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import { type TestName, NAMED_TESTS, namedTest } from "../workloads/named-tests";
import type { PrefillSize } from "../workloads/key-slices";
import type { Workload } from "../workloads/workload";
import { type ConnectionChecks, CHECK_CONNECTION_FACTOR } from "./connection-check";
import type { LoadSender } from "./load-sender";
import { namedTestRecord } from "./measurement-records";
import type { MeasurementListener } from "./measurement-series";
import type { MeasurementRecord } from "../results/schema";
import type { Session } from "./session";

/** The rate of a trial run determines the number of requests of the measurement. */
const TRIAL_REQUESTS = 400_000;
/** Elements before a test that removes them: times the requests of the reference load in the time of the test. */
const STOCK_MARGIN = 1.2;
/** Seconds that a run is allowed to last longer than planned. */
const OVERRUN_SECONDS = 0.5;

export class NamedTestMeasurement {
  readonly #trialRates = new Map<string, number>();

  constructor(
    private readonly workload: Workload,
    private readonly sender: LoadSender,
    private readonly checks: ConnectionChecks,
    private readonly listener: Pick<MeasurementListener, "progress">,
  ) {}

  /** @param label for progress and raw output @param referenceRate requests per second of the last reference load */
  async measure(
    label: string,
    { round, session, testName }: { readonly round: number; readonly session: Session; readonly testName: TestName },
    referenceRate: number,
  ): Promise<MeasurementRecord> {
    const test = namedTest(testName);
    const size = this.#prefillSize(referenceRate);
    this.listener.progress(`${label}: writing its keys`, true);
    await session.prepareKeys(test, size, this.sender.runners.signal);
    const run = await this.#runOf(label, session, testName);
    this.listener.progress(label, true);
    const sending = { run, nodes: session.nodes, warmUp: this.#warmUp(run) };
    const measured = await this.sender.sendByValkeyBenchmark(label, session, sending);
    const ranEmpty = await session.removeChangedKeys(test, size);
    const { deployment } = session;
    const record = namedTestRecord(measured, { deployment, testName, run, round, ranEmpty });
    // The connection check repeats the test. A test that adds or removes elements cannot be repeated with the same
    // elements.
    return test.leaves === "same" ? this.#checked(label, session, record, run) : record;
  }

  #checked(
    label: string,
    session: Session,
    record: MeasurementRecord,
    run: ValkeyBenchmarkRun,
  ): Promise<MeasurementRecord> {
    return this.checks.check(label, record, (seconds) => {
      const clients = run.workload.clients * CHECK_CONNECTION_FACTOR;
      const repeated = {
        ...run,
        seed: this.sender.nextSeed(),
        length: "seconds" in run.length ? { seconds } : run.length,
        workload: { ...run.workload, clients },
      };
      return this.sender.sendByValkeyBenchmark(`${label}, connection check`, session, { run: repeated });
    });
  }

  #prefillSize(referenceRate: number): PrefillSize {
    const { keySpace, dataSize, tests } = this.workload;
    const removesElements = tests.some((test) => NAMED_TESTS[test].leaves === "less");
    return { keySpace, dataSize, stock: removesElements ? this.#stock(referenceRate) : 0 };
  }

  /** Based on the reference load, because no test that removes elements is faster. */
  #stock(referenceRate: number): number {
    const { length, warmup, clients, pipeline } = this.workload;
    if ("requests" in length) return length.requests + clients * pipeline * this.sender.runners.valkeyBenchmark.count;
    return Math.ceil(referenceRate * STOCK_MARGIN * (length.seconds + warmup + OVERRUN_SECONDS));
  }

  /** Undefined without a warm-up. `valkeyBenchmarkArguments` says why it is a separate run. */
  #warmUp(run: ValkeyBenchmarkRun): ValkeyBenchmarkRun | undefined {
    const { warmup } = this.workload;
    if (warmup === 0 || !this.sender.runners.valkeyBenchmark.features.duration) return undefined;
    return { ...run, seed: this.sender.nextSeed(), length: { seconds: warmup } };
  }

  /** Without --duration, a trial run finds the number of requests that the planned time needs. */
  async #runOf(label: string, session: Session, testName: TestName): Promise<ValkeyBenchmarkRun> {
    const { features } = this.sender.runners.valkeyBenchmark;
    const run = this.sender.namedTestRun(session, testName, this.workload);
    if ("requests" in run.length || features.duration) return run;
    const { name, mode } = session.deployment;
    const key = `${name} ${testName}`;
    let rate = this.#trialRates.get(key);
    if (rate === undefined) {
      this.listener.progress(
        `${label}: finding the number of requests by a trial run, because this valkey-benchmark has no --duration`,
      );
      const trial = { ...run, length: { requests: TRIAL_REQUESTS } };
      rate = (await this.sender.sendByValkeyBenchmark(`${label}, trial`, session, { run: trial })).report.rate;
      this.#trialRates.set(key, rate);
    }
    return { ...run, length: effectiveLength(this.workload, mode, features, rate) };
  }
}
