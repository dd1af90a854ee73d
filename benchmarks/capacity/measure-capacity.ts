import { randomInt } from "node:crypto";
import type { ReportProgress } from "../../lib/progress";
import { formatCount } from "../../lib/units";
import type { LoadDriver } from "../load/load-driver";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import { countedCommandsOfMixed, measure } from "../measuring/measure";
import { mixedWorkloadRecord } from "../measuring/measurement-records";
import { type VerifiedDeployment, Session } from "../measuring/session";
import type { CapacityLoad, CapacityRecord, MeasurementRecord, Warning } from "../results/schema";
import { type OpenLoopWorkload, meanValueBytes, requestMixOf } from "../workloads/mixed-workload";
import { prefillForMixed } from "../workloads/mixed-workload-tests";
import type { Objective } from "./objective";
import { type SearchPlan, type ProbeOutcome, kneeOf, searchCapacity } from "./search";
import { compact } from "../../lib/compact";
import { Histogram } from "../../lib/histogram";
import { bottleneckOf } from "../warnings/bottleneck";
import { histogramOf } from "../results/rows";

/** A search for a capacity: the load and the objective. */
export interface CapacitySearch {
  /** The load to offer. The search sets its rate. */
  readonly workload: OpenLoopWorkload;
  readonly objective: Objective;
  readonly search: SearchPlan;
}

interface CapacityMeasurement extends CapacitySearch {
  readonly deployment: VerifiedDeployment;
}

interface CapacityDrivers {
  readonly openLoop: LoadDriver<OpenLoopRun>;
  readonly signal: AbortSignal;
}

/** Connections in half of the confirmations: they show whether the clients or the servers are the limit. */
const MORE_CONNECTIONS = 2;

/** @throws the errors of the session and of the load driver; the signal's reason if the signal is aborted */
export async function measureCapacity(
  measurement: CapacityMeasurement,
  runners: CapacityDrivers,
  report: ReportProgress,
): Promise<CapacityRecord> {
  const { workload, objective, search } = measurement;
  const session = await Session.open(measurement.deployment);
  try {
    const keys = prefillForMixed(workload);
    await session.prepareKeys({ prefill: keys.what }, keys.size, runners.signal);
    const prober = new Prober(session, measurement, runners, report);
    const { capacity, isOpenEnded, probes } = await searchCapacity(search, (rate) => prober.probe(rate));
    const failing = lowestFailing(probes, capacity);
    const points = loadLatencyPoints(probes, objective.quantile);
    const { name, mode } = session.deployment;
    return {
      deployment: name,
      mode,
      workload: workload.name,
      round: null,
      load: loadOf(workload, runners.openLoop.count),
      objective,
      capacity,
      isOpenEnded,
      points,
      knee: kneeOf(points)?.rate ?? null,
      bottleneck: failing === undefined ? null : capacityBottleneck(failing, await prober.confirm(failing.rate)),
      warnings: capacityWarnings(probes, capacity),
    };
  } finally {
    await session.close();
  }
}

class Prober {
  #seed = randomInt(1, 1_000_000_000);

  constructor(
    private readonly session: Session,
    private readonly measurement: CapacityMeasurement,
    private readonly runners: CapacityDrivers,
    private readonly report: ReportProgress,
  ) {}

  async probe(rate: number, clients = this.measurement.workload.clients): Promise<Probe> {
    const { deployment, primary, nodes, user } = this.session;
    const { objective } = this.measurement;
    const workload: OpenLoopWorkload = { ...this.measurement.workload, rate, clients };
    const run: OpenLoopRun = { mix: workload, primary: primary.name, seed: this.#seed++, credentials: user };
    const request = { deployment, primary, run, warmUp: this.#warmUp(run) };
    const { openLoop, signal } = this.runners;
    const measured = await measure(request, countedCommandsOfMixed(workload), nodes, openLoop, signal);
    const record = mixedWorkloadRecord(measured, { deployment, workload, seed: run.seed, round: 1 });
    const probe = judgeProbe(record, rate, objective, workload.length.seconds);
    this.report(`${deployment.name}: ${formatCount(rate)}/s ${probe.words}`);
    return probe;
  }

  /** Offers a rate several times, alternately over the configured number of connections and over twice as many. */
  async confirm(rate: number): Promise<Confirmation> {
    const of = this.measurement.search.confirmations;
    let sameConnections = 0;
    let moreConnections = 0;
    for (let i = 0; i < of; i++) {
      sameConnections += Number((await this.probe(rate)).holds);
      moreConnections += Number((await this.probe(rate, this.measurement.workload.clients * MORE_CONNECTIONS)).holds);
    }
    return { sameConnections, moreConnections, of };
  }

  #warmUp(run: OpenLoopRun): OpenLoopRun | undefined {
    const seconds = run.mix.warmup;
    return seconds === 0 ? undefined : { ...run, mix: { ...run.mix, length: { seconds } }, seed: this.#seed++ };
  }
}

function loadOf(workload: OpenLoopWorkload, runners: number): CapacityLoad {
  const { arrivals, values, keySpace, clients, pipeline, workers } = workload;
  return {
    requestMix: requestMixOf(workload),
    arrivals,
    dataSize: Math.round(meanValueBytes(values)),
    keySpace,
    clients,
    pipeline,
    workers,
    runners,
  };
}

/** If fewer offered requests are answered, the load misses its objective, whichever percentile that names. */
const MIN_ANSWERED = 0.999;
/** Times the objective's latency, plus a share of the probe's duration; a later last reply shows a growing queue. */
const OVERRUN_FACTOR = 2;
const OVERRUN_SHARE = 0.01;
/** The warnings of a failed probe count only if its rate is at most this multiple of the capacity. */
const NEAR_CAPACITY = 1.2;

export interface Probe extends ProbeOutcome {
  readonly record: MeasurementRecord;
  readonly words: string;
}

export function judgeProbe(record: MeasurementRecord, rate: number, objective: Objective, seconds: number): Probe {
  const answered = answeredShare([record]);
  const ms = offeredPercentile(histogramOf(record), answered, objective.quantile);
  const overrunMs = (record.client.seconds - seconds) * 1000;
  const queueGrows = overrunMs > OVERRUN_FACTOR * objective.ms + OVERRUN_SHARE * seconds * 1000;
  const tooFewAnswers = answered < Math.max(MIN_ANSWERED, objective.quantile);
  const holds = ms <= objective.ms && !tooFewAnswers && !queueGrows;
  const details = [
    `${ms.toFixed(2)} ms`,
    tooFewAnswers ? `${Number((answered * 100).toFixed(3))} % answered` : undefined,
    queueGrows ? "the queue grows" : undefined,
  ];
  return { rate, holds, record, words: `${holds ? "meets" : "misses"} the objective (${compact(details).join(", ")})` };
}

/** Shows what limits the deployment. A rate has failed if it missed the objective in at least half of its probes. */
export function lowestFailing(probes: readonly Probe[], capacity: number): Probe | undefined {
  const above = probes.filter(({ rate }) => rate > capacity).sort((a, b) => a.rate - b.rate);
  return above.find(({ rate, holds }) => {
    const ofRate = above.filter((each) => each.rate === rate);
    return !holds && 2 * ofRate.filter((each) => each.holds).length <= ofRate.length;
  });
}

function answeredShare(records: readonly MeasurementRecord[]): number {
  const offered = records.reduce((sum, { offering }) => sum + (offering?.offered ?? 0), 0);
  const answered = records.reduce((sum, { client }) => sum + client.requests, 0);
  return offered === 0 ? 0 : Math.min(1, answered / offered);
}

/** Requests without an answer count as slower than all others; their latency is at least the longest measured one. */
function offeredPercentile(histogram: Histogram, answered: number, quantile: number): number {
  return histogram.percentileMs(answered <= quantile ? 1 : quantile / answered);
}

/** Each rate has one point, which merges all probes of this rate. */
export function loadLatencyPoints(probes: readonly Probe[], quantile: number): CapacityRecord["points"] {
  const rates = [...new Set(probes.map(({ rate }) => rate))].sort((a, b) => a - b);
  return rates.map((rate) => {
    const ofRate = probes.filter((each) => each.rate === rate);
    const records = ofRate.map(({ record }) => record);
    const histogram = Histogram.merge(records.map((record) => histogramOf(record)));
    const answered = answeredShare(records);
    return {
      rate,
      probes: ofRate.length,
      held: ofRate.filter(({ holds }) => holds).length,
      achieved: records.reduce((sum, { client }) => sum + client.rps, 0) / records.length,
      ms: offeredPercentile(histogram, answered, quantile),
      p50Ms: offeredPercentile(histogram, answered, 0.5),
      p99Ms: offeredPercentile(histogram, answered, 0.99),
      lagP99Ms: Math.max(...records.map(({ offering }) => offering?.lagP99Ms ?? 0)),
      histogram: histogram.encode(),
    };
  });
}

interface Confirmation {
  readonly sameConnections: number;
  readonly moreConnections: number;
  /** Probes with the usual number of connections, and again so many with twice as many. */
  readonly of: number;
}

/** The client, if the deployment meets the objective at this rate only with more connections. */
export function capacityBottleneck(
  failing: Probe,
  { sameConnections, moreConnections, of }: Confirmation,
): NonNullable<CapacityRecord["bottleneck"]> {
  if (2 * moreConnections > of && 2 * sameConnections <= of) {
    return {
      at: "client",
      text: `with twice the connections, the deployment meets the objective at ${formatCount(failing.rate)}/s`,
    };
  }
  const bottleneck = bottleneckOf(failing.record);
  if (bottleneck.at !== "none") return bottleneck;
  return { at: "none", text: "servers and load generator had CPU to spare, so latency rose for a different reason" };
}

/** If the capacity is too low, one of these warnings can name the reason. */
function capacityWarnings(probes: readonly Probe[], capacity: number): Warning[] {
  const deciding = probes.filter(
    ({ rate, holds }) => rate === capacity || (!holds && rate <= capacity * NEAR_CAPACITY),
  );
  const warnings = deciding.flatMap(({ record }) => record.warnings).filter(({ code }) => code !== "rate-missed");
  return [...new Map(warnings.map((warning) => [warning.code, warning])).values()];
}
