/** Measurements are interleaved and repeated, with a reference load before each round and after the last one. */
import { formatCount } from "../../lib/units";
import { Failure } from "../../lib/errors";
import { formatLatency, latencyLimitMs } from "../results/latency-limits";
import { recordPercentileMs } from "../results/rows";
import type { MeasurementRecord } from "../results/schema";
import type { MixedWorkload } from "../workloads/mixed-workload";
import { type TestName, namedTest } from "../workloads/named-tests";
import { ConnectionChecks, MixedWorkloadMeasurement, NamedTestMeasurement } from "./workload-measurements";
import { LoadSender } from "./load-sender";
import type { LoadDrivers, MeasurementListener, MeasurementSeries } from "./measurement-series";
import { measureReferenceLoad } from "./reference-load";
import { assertRunnerSupports } from "./runner-support";
import { Session } from "./session";

/** @throws BadInput if a workload cannot be sent; LoadGeneratorFailure; Failure */
export async function runMeasurements(
  series: MeasurementSeries,
  runners: LoadDrivers,
  listener: MeasurementListener,
): Promise<void> {
  assertRunnerSupports(series, runners.valkeyBenchmark);
  const sessions: Session[] = [];
  try {
    for (const deployment of series.deployments) sessions.push(await Session.open(deployment));
    await new SeriesRun(series, sessions, runners, listener).run();
  } finally {
    await Promise.allSettled(sessions.map((session) => session.close()));
  }
}

type Variant =
  | { readonly session: Session; readonly testName: TestName }
  | { readonly session: Session; readonly workload: MixedWorkload };

class SeriesRun {
  #referenceRate: number;
  readonly #sender: LoadSender;
  readonly #namedTests: NamedTestMeasurement;
  readonly #mixedWorkloads: MixedWorkloadMeasurement;

  constructor(
    private readonly series: MeasurementSeries,
    private readonly sessions: readonly Session[],
    private readonly runners: LoadDrivers,
    private readonly listener: MeasurementListener,
  ) {
    const checks = new ConnectionChecks(listener.progress);
    this.#referenceRate = series.referenceRate ?? 0;
    this.#sender = new LoadSender(runners, listener);
    this.#namedTests = new NamedTestMeasurement(series.workload, this.#sender, checks, listener);
    this.#mixedWorkloads = new MixedWorkloadMeasurement(this.#sender, checks, listener);
  }

  async run(): Promise<void> {
    for (const step of interleave(this.#variants(), this.series.repeats)) {
      this.runners.signal.throwIfAborted();
      if (step.kind === "reference-load") await this.#referenceLoad(step.round);
      else await this.#measure(step.round, step.variant);
    }
  }

  #variants(): Variant[][] {
    const { workload, mixedWorkloads = [] } = this.series;
    return [
      ...workload.tests.map((testName) => this.sessions.map((session) => ({ session, testName }))),
      ...mixedWorkloads.map((mixed) => this.sessions.map((session) => ({ session, workload: mixed }))),
    ];
  }

  /** Always to the first deployment, because different servers would serve a different rate. */
  async #referenceLoad(round: number): Promise<void> {
    if (this.series.referenceRate !== undefined) return;
    const [session] = this.sessions;
    if (session === undefined) throw new Failure("there is no deployment to measure");
    this.listener.progress(`reference load ${round} of ${this.series.repeats + 1}`, true);
    this.#referenceRate = await measureReferenceLoad(round, session, this.#sender, this.listener);
  }

  async #measure(round: number, variant: Variant): Promise<void> {
    const title = "workload" in variant ? variant.workload.name : namedTest(variant.testName).title;
    const label = `round ${round} of ${this.series.repeats}: ${title} on ${variant.session.deployment.name}`;
    const record =
      "workload" in variant
        ? await this.#mixedWorkloads.measure(label, { ...variant, round })
        : await this.#namedTests.measure(label, { ...variant, round }, this.#referenceRate);
    this.listener.record(record);
    this.listener.progress(`${label}: ${describe(record)}`);
  }
}

function describe(record: MeasurementRecord): string {
  const limitMs = latencyLimitMs([record]);
  const [p50, p99] = ([0.5, 0.99] as const).map((part) =>
    formatLatency(limitMs, recordPercentileMs(record, part), String),
  );
  const rate = `${formatCount(record.client.rps)}/s, p50 ${p50}`;
  return record.offering === null ? rate : `${rate}, p99 ${p99}`;
}

type ScheduledStep<V> =
  | { readonly kind: "reference-load"; readonly round: number }
  | { readonly kind: "measure"; readonly round: number; readonly variant: V };

/**
 * Every second round reverses the order within each group, so that slow changes of the machine's speed favor no
 * variant.
 * @param repeats with 0, the schedule is a single reference load
 */
export function interleave<V>(groups: readonly (readonly V[])[], repeats: number): ScheduledStep<V>[] {
  const steps: ScheduledStep<V>[] = [];
  for (let round = 1; round <= repeats; round++) {
    steps.push({ kind: "reference-load", round });
    for (const group of groups) {
      const order = round % 2 === 0 ? [...group].reverse() : group;
      for (const variant of order) steps.push({ kind: "measure", round, variant });
    }
  }
  return [...steps, { kind: "reference-load", round: repeats + 1 }];
}
