import { randomInt } from "node:crypto";
import type { ReportProgress } from "../../lib/progress";
import { formatCount } from "../../lib/units";
import type { LoadDriver } from "../load/load-driver";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import { countedCommandsOfMixed, measure } from "../measuring/measure";
import { mixedWorkloadRecord } from "../measuring/measurement-records";
import { type VerifiedDeployment, Session } from "../measuring/session";
import type { CapacityLoad, CapacityRecord } from "../results/schema";
import { type OpenLoopWorkload, meanValueBytes, requestMixOf } from "../workloads/mixed-workload";
import { prefillForMixed } from "../workloads/mixed-workload-tests";
import type { Objective } from "./objective";
import type { Confirmation, Probe } from "./probes";
import { capacityBottleneck, capacityWarnings, judgeProbe, loadLatencyPoints, lowestFailing } from "./probes";
import { type SearchPlan, kneeOf, searchCapacity } from "./search";

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
