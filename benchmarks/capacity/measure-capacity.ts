/** The capacity of deployments under an objective, by the open loop: offered, measured and judged like any other load. */
import { randomInt } from "node:crypto";
import { mixedWorkloadRecord } from "../measuring/measurement-records";
import { countedCommandsOfMixed, measure } from "../measuring/measure";
import type { VerifiedDeployment } from "../measuring/session";
import { Session } from "../measuring/session";
import type { LoadRunner } from "../load/load-runner";
import type { OpenLoopRun } from "../load/open-loop/local-runner";
import type { ReportProgress } from "../../lib/progress";
import type { CapacityLoad, CapacityRecord } from "../results/schema";
import { formatCount } from "../../lib/units";
import type { OpenLoopWorkload } from "../workloads/mixed-workload";
import { meanValueBytes, requestMixOf } from "../workloads/mixed-workload";
import { prefillForMixed } from "../workloads/mixed-workload-tests";
import type { Objective } from "./objective";
import type { Probe } from "./probes";
import { capacityBottleneck, capacityWarnings, judgeProbe, lowestFailing, loadLatencyPoints } from "./probes";
import type { SearchPlan } from "./search";
import { kneeOf, searchCapacity } from "./search";

export interface CapacityMeasurement {
  readonly deployments: readonly VerifiedDeployment[];
  /** What is offered; its rate is the search's. */
  readonly workload: OpenLoopWorkload;
  readonly objective: Objective;
  readonly search: SearchPlan;
  readonly externalKeys?: { readonly overwrite: boolean } | undefined;
}

export interface CapacityRunners {
  readonly openLoop: LoadRunner<OpenLoopRun>;
  readonly signal: AbortSignal;
}

/**
 * Finds the capacity of one deployment after the other.
 * @param found told of each as soon as it is known
 */
export async function measureCapacities(
  plan: CapacityMeasurement,
  equipment: CapacityRunners,
  report: ReportProgress,
  found: (capacity: CapacityRecord) => void,
): Promise<void> {
  for (const contender of plan.deployments) {
    const session = await Session.open(contender, plan.externalKeys);
    try {
      const keys = prefillForMixed(plan.workload);
      await session.prepareKeys({ prefill: keys.what }, keys.size, equipment.signal);
      found(await capacityOf(session, plan, equipment, report));
    } finally {
      await session.close();
    }
  }
}

async function capacityOf(
  session: Session,
  { workload, objective, search }: CapacityMeasurement,
  { openLoop, signal }: CapacityRunners,
  report: ReportProgress,
): Promise<CapacityRecord> {
  const { deployment, primary, nodes, user } = session;
  let seed = randomInt(1, 1_000_000_000);
  const probe = async (rate: number, clients = workload.clients): Promise<Probe> => {
    const offered: OpenLoopWorkload = { ...workload, rate, clients };
    const tool: OpenLoopRun = { mix: offered, primary: primary.name, seed: seed++, credentials: user };
    const warmUp =
      workload.warmup === 0
        ? undefined
        : { ...tool, mix: { ...offered, length: { seconds: workload.warmup } }, seed: seed++ };
    const measured = await measure(
      { deployment, primary, run: tool, warmUp },
      countedCommandsOfMixed(workload),
      nodes,
      openLoop,
      signal,
    );
    const record = mixedWorkloadRecord(measured, { deployment, workload: offered, seed: tool.seed, round: 1 });
    const probed = judgeProbe(record, rate, objective, workload.length.seconds);
    report(`${deployment.name}: ${formatCount(rate)}/s ${probed.words}`);
    return probed;
  };
  const { capacity, isOpenEnded, probes } = await searchCapacity(search, probe);
  const failing = lowestFailing(probes, capacity);
  // Whether more connections would have done it tells the servers' limit from the clients'.
  let same = 0;
  let more = 0;
  for (let i = 0; failing !== undefined && i < search.confirmations; i++) {
    same += Number((await probe(failing.rate)).holds);
    more += Number((await probe(failing.rate, workload.clients * 2)).holds);
  }
  const points = loadLatencyPoints(probes, objective.quantile);
  return {
    deployment: deployment.name,
    mode: deployment.mode,
    workload: workload.name,
    round: null,
    load: loadOf(workload, openLoop.count),
    objective,
    capacity,
    isOpenEnded,
    points,
    knee: kneeOf(points)?.rate ?? null,
    bottleneck: failing === undefined ? null : capacityBottleneck(failing, { same, more, of: search.confirmations }),
    warnings: capacityWarnings(probes, capacity),
  };
}

function loadOf(mix: OpenLoopWorkload, runners: number): CapacityLoad {
  const { arrivals, values, keySpace, clients, pipeline, workers } = mix;
  return {
    requestMix: requestMixOf(mix),
    arrivals,
    dataSize: Math.round(meanValueBytes(values)),
    keySpace,
    clients,
    pipeline,
    workers,
    runners,
  };
}
