/** Makes the record of a scenario from the observations of its phases. Pure. */
import type { Mode } from "../../valkey/node";
import type { ScenarioRecord } from "./record-schema";
import { MAX_LOST_WRITES_LISTED } from "./record-schema";
import { formatRanges } from "../../valkey/topology/slots";
import type { Shard } from "../../valkey/verification/shards";
import type { WriteAccounting } from "../writes/accounting";
import { describeFault } from "../plan/fault";
import type { Scenario } from "../plan/scenario";
import type { FaultPlan } from "../plan/fault-plan";
import type { Write } from "../writes/write-history";
import type { LastUnhealthyTimes } from "../observation/deployment-observer";
import type { Outage } from "../observation/outages";
import { deploymentOutage, outageOf } from "../observation/outages";
import type { Timeline } from "../observation/timeline";
import { timelineOf } from "../observation/timeline";
import { countWriteErrors, latencyByPhase } from "../observation/write-latency";
import type { StateChange } from "../observation/observed-states";
import type { Recovery } from "./await-recovery";
import type { Healing } from "./heal";
import type { Injection } from "./inject";
import type { ScenarioEvent } from "./observe";

/**
 * Observations of all phases. Times of changes and events are relative to the fault. All other times are in
 * milliseconds of performance.now.
 */
export interface ScenarioObservations extends Injection, Healing, Recovery {
  readonly plan: FaultPlan;
  /** The shards before the fault. */
  readonly shards: readonly Shard[];
  /** Node timeout, milliseconds; null in replication mode. */
  readonly nodeTimeoutMs: number | null;
  readonly writes: readonly Write[];
  readonly accounting: WriteAccounting;
  readonly last: Readonly<LastUnhealthyTimes>;
  readonly changes: readonly StateChange[];
  readonly events: readonly ScenarioEvent[];
}

interface ObservedScenario {
  readonly deployment: string;
  readonly mode: Mode;
  readonly scenario: Scenario;
  readonly round: number;
  readonly observations: ScenarioObservations;
}

export function scenarioRecord(observed: ObservedScenario): ScenarioRecord {
  const { deployment, mode, scenario, round, observations } = observed;
  const { faultMs, steadyMs, verifiedMs, plan, shards, writes, accounting, last } = observations;
  const { load } = scenario;
  const shardOutage = (index: number): Outage => {
    const ofShard = writes.filter(({ shard }) => shard === index);
    return outageOf(ofShard, faultMs);
  };
  const outages = shards.map((_shard, index) => shardOutage(index));
  const outage = deploymentOutage(outages);
  const sinceFault = (atMs: number | undefined): number =>
    atMs === undefined ? 0 : rounded(Math.max(0, atMs - faultMs));
  const isVerified = verifiedMs !== null;
  const steadyWrites = writes.filter(({ dueMs }) => dueMs >= steadyMs);
  return {
    id: `${scenario.name}-${deployment}-${round}`,
    scenario: scenario.name,
    fault: scenario.fault.kind,
    description: describeFault(scenario.fault),
    deployment,
    mode,
    round,
    startedAt: observations.startedAt.toISOString(),
    victims: [...plan.victims],
    warnings: [...plan.warnings],
    nodeTimeoutMs: observations.nodeTimeoutMs,
    settings: Object.fromEntries(scenario.settings),
    load: {
      rate: load.rate,
      bytes: load.bytes,
      timeoutMs: load.timeoutMs,
      replicas: load.acknowledgement.replicas,
    },
    outage: roundedOutage(outage),
    shards: shards.map(({ primary, slots }, index) => ({
      primary: primary ?? null,
      slots: formatRanges(slots),
      ...roundedOutage(outages[index] ?? { longestMs: 0, overMs: 0 }),
    })),
    assisted: observations.assisted,
    okMs: outage.overMs === null ? null : sinceFault(last.notServing),
    redundantMs: isVerified ? sinceFault(last.notRedundant) : null,
    zoneSafeMs: isVerified ? sinceFault(last.notZoneSafe) : null,
    verifiedMs: isVerified ? sinceFault(verifiedMs) : null,
    recoveryFailure: observations.recoveryFailure,
    repaired: observations.repaired,
    writes: {
      due: writes.length,
      acknowledged: accounting.acknowledged,
      failed: accounting.failed,
      unknown: accounting.unknown,
      redirected: writes.filter(({ redirects }) => redirects > 0).length,
    },
    errors: countWriteErrors(writes),
    latency: latencyByPhase(steadyWrites, faultMs, outage.overMs),
    lost: { count: accounting.lost.length, writes: accounting.lost.slice(0, MAX_LOST_WRITES_LISTED) },
    unknownDone: accounting.unknownDone,
    undecided: accounting.undecided,
    anomalies: [...accounting.anomalies],
    unread: accounting.unread,
    unreadReason: accounting.unreadReason ?? null,
    timeline: asRecorded(timelineOf(writes, faultMs)),
    states: observations.changes.map((change) => ({ ...change, atMs: rounded(change.atMs) })),
    events: observations.events.map(({ atMs, what }) => ({ atMs: rounded(atMs), what })),
  };
}

function asRecorded(timeline: Timeline): ScenarioRecord["timeline"] {
  const { fromMs, stepMs, acknowledged, failed, unknown } = timeline;
  return { fromMs, stepMs, acknowledged: [...acknowledged], failed: [...failed], unknown: [...unknown] };
}

function roundedOutage({ longestMs, overMs }: Outage): ScenarioRecord["outage"] {
  return { longestMs: rounded(longestMs), overMs: overMs === null ? null : rounded(overMs) };
}

/** Milliseconds, rounded to a tenth. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
