/** The capacity of deployments under an objective, by the open loop: offered, measured and judged like any other load. */
import { randomInt } from "node:crypto";
import { mixRecordOf } from "../measuring/evidence";
import { countedOfMix, measure } from "../measuring/measure";
import type { Limit } from "../measuring/saturation";
import { limitOf } from "../measuring/saturation";
import type { Contender } from "../measuring/session";
import { Session } from "../measuring/session";
import type { LoadRunner } from "../measuring/tool-runner";
import type { OpenLoopRun } from "../open-loop/local-runner";
import { Histogram } from "../latency/histogram";
import type { Report } from "../progress";
import { histogramOf } from "../results/rows";
import type { CapacityLoad, CapacityRecord, Doubt, MeasurementRecord } from "../results/schema";
import { formatCount } from "../units";
import type { OpenLoopMix } from "../workloads/mix";
import { meanSize, workOf } from "../workloads/mix";
import { prefillOf } from "../workloads/mix-tests";
import type { Objective } from "./objective";
import type { Probed, SearchPlan } from "./search";
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

/** Of what was offered, this part must be answered. */
const ANSWERED = 0.999;
/** Answers may come after the last intended time for so many times the objective and so much of the probe: longer, and a queue was growing. */
const OVERRUN = 2;
const GROWTH = 0.01;

interface Probe extends Probed {
  readonly record: MeasurementRecord;
  readonly ms: number;
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
    const ms = histogramOf(record).percentileMs(objective.part);
    const answered = record.offering === null ? 0 : record.client.requests / record.offering.offered;
    const overrunMs = (record.client.seconds - mix.length.seconds) * 1000;
    const grows = overrunMs > OVERRUN * objective.ms + GROWTH * mix.length.seconds * 1000;
    const holds = ms <= objective.ms && answered >= ANSWERED && !grows;
    report(`${deployment.name}: ${formatCount(rate)}/s ${holds ? "holds" : "does not hold"} (${ms.toFixed(2)} ms${answered < ANSWERED ? `, ${(answered * 100).toFixed(1)} % answered` : ""}${grows ? ", and the queue grows" : ""})`);
    return { rate, holds, record, ms };
  };
  const { capacity, isOpenEnded, probes } = await searchCapacity(search, probe);
  const failing = probes.filter(({ holds, rate }) => !holds && rate > capacity).sort((a, b) => a.rate - b.rate)[0];
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
    limit: failing === undefined ? null : describeLimit(failing, more > same && 2 * more > search.confirmations),
    doubts: doubtsOf(probes, capacity),
  };
}

function loadOf(mix: OpenLoopMix, runners: number): CapacityLoad {
  const { arrivals, values, keySpace, clients, pipeline, workers } = mix;
  return { mix: workOf(mix), arrivals, dataSize: Math.round(meanSize(values)), keySpace, clients, pipeline, workers, runners };
}

/** One for each rate, the probes of a rate merged by their counts; ascending. */
function pointsOf(probes: readonly Probe[], part: number): CapacityRecord["points"] {
  const rates = [...new Set(probes.map(({ rate }) => rate))].sort((a, b) => a - b);
  return rates.map((rate) => {
    const of = probes.filter((each) => each.rate === rate);
    const histogram = Histogram.merge(of.map(({ record }) => histogramOf(record)));
    const mean = (figure: (record: MeasurementRecord) => number): number => of.reduce((sum, { record }) => sum + figure(record), 0) / of.length;
    return {
      rate,
      probes: of.length,
      held: of.filter(({ holds }) => holds).length,
      achieved: mean(({ client }) => client.rps),
      ms: histogram.percentileMs(part),
      p50Ms: histogram.percentileMs(0.5),
      p99Ms: histogram.percentileMs(0.99),
      lagP99Ms: Math.max(...of.map(({ record }) => record.offering?.lagP99Ms ?? 0)),
      histogram: histogram.encode(),
    };
  });
}

/** Of the lowest rate that did not hold. @param isEasierWithMore whether it held over twice the connections, and not over as many, offered in turn */
function describeLimit(failing: Probe, isEasierWithMore: boolean): NonNullable<CapacityRecord["limit"]> {
  if (isEasierWithMore) return { who: "client", text: `over twice the connections ${formatCount(failing.rate)}/s hold` };
  const limit: Limit = limitOf(failing.record);
  return limit.who === "nobody" ? { who: "nobody", text: "neither side had run out of CPU: latency rose for another reason" } : limit;
}

/** Of the probes at the capacity: what was late or odd there makes the capacity look less than it is. */
function doubtsOf(probes: readonly Probe[], capacity: number): Doubt[] {
  const there = probes.filter(({ rate, holds }) => rate === capacity || (!holds && rate <= capacity * 1.2)).flatMap(({ record }) => record.doubts);
  return [...new Map(there.map((doubt) => [doubt.code, doubt])).values()].filter(({ code }) => code !== "rate-missed");
}
