/** The capacity of deployments under an objective, by the open loop: offered, measured and judged like any other load. */
import { randomInt } from "node:crypto";
import { mixRecordOf } from "../measuring/evidence";
import { countedOfMix, measure } from "../measuring/measure";
import type { Contender } from "../measuring/session";
import { Session } from "../measuring/session";
import type { LoadRunner } from "../load/tool-runner";
import type { OpenLoopRun } from "../load/open-loop/local-runner";
import type { Report } from "../../lib/progress";
import type { CapacityLoad, CapacityRecord } from "../results/schema";
import { formatCount } from "../../lib/units";
import type { OpenLoopMix } from "../workloads/mix";
import { meanSize, workOf } from "../workloads/mix";
import { prefillOf } from "../workloads/mix-tests";
import type { Objective } from "./objective";
import type { Probe } from "./probes";
import { describeLimit, doubtsOf, judgeProbe, lowestFailing, pointsOf } from "./probes";
import type { SearchPlan } from "./search";
import { kneeOf, searchCapacity } from "./search";

export interface CapacityPlan {
  readonly contenders: readonly Contender[];
  /** What is offered; its rate is the search's. */
  readonly mix: OpenLoopMix;
  readonly objective: Objective;
  readonly search: SearchPlan;
  readonly foreign?: { readonly overwrite: boolean } | undefined;
}

export interface CapacityEquipment {
  readonly openLoop: LoadRunner<OpenLoopRun>;
  readonly signal: AbortSignal;
}

/**
 * Finds the capacity of one deployment after the other.
 * @param found told of each as soon as it is known
 */
export async function measureCapacities(plan: CapacityPlan, equipment: CapacityEquipment, report: Report, found: (capacity: CapacityRecord) => void): Promise<void> {
  for (const contender of plan.contenders) {
    const session = await Session.open(contender, plan.foreign);
    try {
      const keys = prefillOf(plan.mix);
      await session.prepare({ prefill: keys.what }, keys.size, equipment.signal);
      found(await capacityOf(session, plan, equipment, report));
    } finally {
      await session.close();
    }
  }
}

async function capacityOf(session: Session, { mix, objective, search }: CapacityPlan, { openLoop, signal }: CapacityEquipment, report: Report): Promise<CapacityRecord> {
  const { deployment, primary, nodes, user } = session;
  let seed = randomInt(1, 1_000_000_000);
  const probe = async (rate: number, clients = mix.clients): Promise<Probe> => {
    const offered: OpenLoopMix = { ...mix, rate, clients };
    const tool: OpenLoopRun = { mix: offered, primary: primary.name, seed: seed++, credentials: user };
    const warmUp = mix.warmup === 0 ? undefined : { ...tool, mix: { ...offered, length: { seconds: mix.warmup } }, seed: seed++ };
    const measured = await measure({ deployment, primary, tool, warmUp }, countedOfMix(mix), nodes, openLoop, signal);
    const record = mixRecordOf(measured, { deployment, mix: offered, seed: tool.seed, round: 1 });
    const probed = judgeProbe(record, rate, objective, mix.length.seconds);
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
    more += Number((await probe(failing.rate, mix.clients * 2)).holds);
  }
  const points = pointsOf(probes, objective.part);
  return {
    deployment: deployment.name,
    mode: deployment.mode,
    workload: mix.name,
    round: null,
    load: loadOf(mix, openLoop.count),
    objective,
    capacity,
    isOpenEnded,
    points,
    knee: kneeOf(points)?.rate ?? null,
    limit: failing === undefined ? null : describeLimit(failing, { same, more, of: search.confirmations }),
    doubts: doubtsOf(probes, capacity),
  };
}

function loadOf(mix: OpenLoopMix, runners: number): CapacityLoad {
  const { arrivals, values, keySpace, clients, pipeline, workers } = mix;
  return { mix: workOf(mix), arrivals, dataSize: Math.round(meanSize(values)), keySpace, clients, pipeline, workers, runners };
}
