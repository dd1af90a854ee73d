import { type ValkeyBenchmarkRun, effectiveLength } from "../load/valkey-benchmark/arguments";
import { type TestName, NAMED_TESTS, namedTest } from "../workloads/named-tests";
import type { PrefillSize } from "../workloads/key-slices";
import type { Workload } from "../workloads/workload";
import type { LoadSender } from "./load-sender";
import { namedTestRecord, mixedWorkloadRecord } from "./measurement-records";
import type { MeasurementListener } from "./measurement-series";
import type { MeasurementRecord, Warning } from "../results/schema";
import type { Session } from "./session";
import { BadInput } from "../../lib/errors";
import type { MemtierRun } from "../load/memtier/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import type {
  MemtierWorkload,
  MixedWorkload,
  OpenLoopWorkload,
  ValkeyBenchmarkWorkload,
} from "../workloads/mixed-workload";
import { prefillForMixed, testForMixed, workloadForMixed } from "../workloads/mixed-workload-tests";
import type { LoadDriver } from "../load/load-driver";
import { type MeasuredLoad, countedCommandsOfMixed } from "./measure";
import type { ReportProgress } from "../../lib/progress";
import { formatCount } from "../../lib/units";
import { type BottleneckEvidence, bottleneckOf, MIN_SECONDS } from "../warnings/bottleneck";

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

export class MixedWorkloadMeasurement {
  constructor(
    private readonly sender: LoadSender,
    private readonly checks: ConnectionChecks,
    private readonly listener: Pick<MeasurementListener, "progress">,
  ) {}

  async measure(
    label: string,
    {
      round,
      session,
      workload,
    }: { readonly round: number; readonly session: Session; readonly workload: MixedWorkload },
  ): Promise<MeasurementRecord> {
    const { deployment } = session;
    const keys = prefillForMixed(workload);
    this.listener.progress(`${label}: writing its keys`, true);
    await session.prepareKeys({ prefill: keys.what }, keys.size, this.sender.runners.signal);
    this.listener.progress(label, true);
    const seed = this.sender.nextSeed();
    const measured = await this.#send(label, session, workload, seed);
    const record = mixedWorkloadRecord(measured, { deployment, workload, seed, round });
    return this.checks.check(label, record, (seconds) => {
      const clients = workload.clients * CHECK_CONNECTION_FACTOR;
      const repeated = { ...workload, clients, length: { seconds }, warmup: 0 };
      return this.#send(`${label}, connection check`, session, repeated, this.sender.nextSeed());
    });
  }

  #send(label: string, session: Session, workload: MixedWorkload, seed: number): Promise<MeasuredLoad> {
    switch (workload.loadGenerator) {
      case "valkey-benchmark":
        return this.#sendByValkeyBenchmark(label, session, workload, seed);
      case "open-loop":
        return this.#sendByOpenLoop(label, session, workload, seed);
      case "memtier":
        return this.#sendByMemtier(label, session, workload);
    }
  }

  #sendByValkeyBenchmark(
    label: string,
    session: Session,
    mixed: ValkeyBenchmarkWorkload,
    seed: number,
  ): Promise<MeasuredLoad> {
    const { mode, access } = session.deployment;
    const run: ValkeyBenchmarkRun = {
      mode,
      endpoint: session.endpoint,
      test: testForMixed(mixed, mode === "cluster"),
      workload: workloadForMixed(mixed),
      length: mixed.length,
      seed,
      readFrom: mixed.readFrom,
      credentials: session.user,
      tls: access.tls,
    };
    const warmUp = this.#warmUp(mixed, () => ({
      ...run,
      seed: this.sender.nextSeed(),
      length: { seconds: mixed.warmup },
    }));
    return this.sender.sendByValkeyBenchmark(label, session, { run, warmUp, nodes: session.nodes });
  }

  #sendByOpenLoop(label: string, session: Session, mixed: OpenLoopWorkload, seed: number): Promise<MeasuredLoad> {
    const run: OpenLoopRun = { mix: mixed, primary: session.primary.name, seed, credentials: session.user };
    const warmUp = this.#warmUp(mixed, () => ({ ...run, mix: warmUpOf(mixed), seed: this.sender.nextSeed() }));
    const runner = required(this.sender.runners.openLoop, mixed);
    return this.sender.send(label, session, { run, warmUp, commands: countedCommandsOfMixed(mixed), runner });
  }

  #sendByMemtier(label: string, session: Session, mixed: MemtierWorkload): Promise<MeasuredLoad> {
    const run = memtierRun(mixed, session);
    const warmUp = this.#warmUp(mixed, () => memtierRun(warmUpOf(mixed), session));
    const runner = required(this.sender.runners.memtier, mixed);
    return this.sender.send(label, session, { run, warmUp, commands: countedCommandsOfMixed(mixed), runner });
  }

  #warmUp<R>({ warmup }: MixedWorkload, make: () => R): R | undefined {
    return warmup === 0 ? undefined : make();
  }
}

function warmUpOf<W extends MixedWorkload>(workload: W): W {
  return { ...workload, length: { seconds: workload.warmup } };
}

function memtierRun(mixed: MemtierWorkload, { deployment, endpoint, primaryCount, user }: Session): MemtierRun {
  const { mode, access } = deployment;
  return { mix: mixed, mode, endpoint, primaries: primaryCount, credentials: user, tls: access.tls };
}

function required<R>(runner: LoadDriver<R> | undefined, { name, loadGenerator }: MixedWorkload): LoadDriver<R> {
  if (runner !== undefined) return runner;
  throw BadInput.of(
    `workload ${name}`,
    "other-load-generator",
    `this platform cannot run the load generator ${loadGenerator}`,
  );
}

const CHECK_CONNECTION_FACTOR = 2;
const CHECK_SECONDS = 2;
/** Greatest factor by which the rate, and that of the reference load, may differ by chance. */
const GAIN_LIMIT = 1.1;

/** A closed loop at full speed that ran long enough and has a rate that CPU use does not explain. */
export function needsConnectionCheck(record: BottleneckEvidence): boolean {
  if (record.rate !== null || record.offering !== null) return false;
  return record.client.seconds >= MIN_SECONDS && bottleneckOf(record).at === "none";
}

/** @param checked requests per second over CHECK_CONNECTION_FACTOR times the connections */
export function connectionWarnings(rate: number, checked: number): Warning[] {
  if (checked <= rate * GAIN_LIMIT) return [];
  const gain = Math.round((checked / rate - 1) * 100);
  const faster = `with twice the connections the rate was ${formatCount(Math.round(checked))}/s, ${gain} % more`;
  return [
    {
      code: "few-connections",
      text: `${faster}, and there was CPU to spare, so the number of connections was the bottleneck`,
    },
  ];
}

/**
 * Repeats a load that CPU use does not explain over twice the connections: if faster, they were too few. Each load is
 * checked once on each deployment, because its bottleneck is the same in every round.
 */
export class ConnectionChecks {
  readonly #rates = new Map<string, number>();

  constructor(private readonly progress: ReportProgress) {}

  /**
   * @param repeat sends the load over CHECK_CONNECTION_FACTOR times the connections for some seconds
   * @returns the record, with a warning if that was faster
   */
  async check(
    label: string,
    record: MeasurementRecord,
    repeat: (seconds: number) => Promise<MeasuredLoad>,
  ): Promise<MeasurementRecord> {
    if (!needsConnectionCheck(record)) return record;
    const key = `${record.deployment} ${record.test}`;
    let rate = this.#rates.get(key);
    if (rate === undefined) {
      this.progress(`${label}: no bottleneck found; repeating the measurement with twice the connections`, true);
      rate = (await repeat(Math.min(CHECK_SECONDS, record.client.seconds))).report.rate;
      this.#rates.set(key, rate);
    }
    return { ...record, warnings: [...record.warnings, ...connectionWarnings(record.client.rps, rate)] };
  }
}
