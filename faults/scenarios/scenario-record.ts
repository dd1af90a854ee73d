import type { Mode } from "../../valkey/node";
import type { ScenarioRecord } from "./scenario-schema";
import { MAX_LOST_WRITES_LISTED } from "./scenario-schema";
import { formatRanges } from "../../valkey/topology/slots";
import type { Shard } from "../../valkey/verification/shards";
import type { WriteAccounting } from "../writes/accounting";
import { describeFault } from "../plan/fault";
import type { Scenario } from "../plan/fault";
import type { FaultPlan } from "../plan/fault-plan";
import type { Write } from "../writes/write-history";
import type { LastUnhealthyTimes } from "../observation/deployment-observer";
import { countWriteErrors, latencyByPhase, outageOf, timelineOf, deploymentOutage } from "../observation/outages";
import type { StateChange } from "../observation/observed-states";

/** What was seen. Times are of one clock, but for those of changes and events, which count from the fault. */
export interface ScenarioObservations {
  readonly startedAt: Date;
  /** From when on latencies before the fault count. */
  readonly steadyMs: number;
  readonly faultMs: number;
  readonly plan: FaultPlan;
  /** As they were before. */
  readonly shards: readonly Shard[];
  readonly nodeTimeoutMs: number | null;
  readonly writes: readonly Write[];
  readonly accounting: WriteAccounting;
  readonly last: Readonly<LastUnhealthyTimes>;
  readonly changes: readonly StateChange[];
  readonly events: readonly { readonly atMs: number; readonly what: string }[];
  readonly helped: boolean;
  readonly repaired: boolean;
  readonly verifiedMs: number | null;
  readonly unwell: string | null;
}

interface Attempted {
  readonly deployment: string;
  readonly mode: Mode;
  readonly scenario: Scenario;
  readonly round: number;
  readonly finding: ScenarioObservations;
}

export function scenarioRecord({ deployment, mode, scenario, round, finding }: Attempted): ScenarioRecord {
  const { faultMs, plan, shards, writes, accounting, last } = finding;
  const outages = shards.map((_shard, index) =>
    outageOf(
      writes.filter(({ shard }) => shard === index),
      faultMs,
    ),
  );
  const outage = deploymentOutage(outages);
  const since = (at: number | undefined): number => (at === undefined ? 0 : rounded(Math.max(0, at - faultMs)));
  const well = finding.verifiedMs !== null;
  return {
    id: `${scenario.name}-${deployment}-${round}`,
    scenario: scenario.name,
    fault: scenario.fault.kind,
    description: describeFault(scenario.fault),
    deployment,
    mode,
    round,
    startedAt: finding.startedAt.toISOString(),
    victims: [...plan.victims],
    warnings: [...plan.warnings],
    nodeTimeoutMs: finding.nodeTimeoutMs,
    settings: Object.fromEntries(scenario.settings),
    load: {
      rate: scenario.load.rate,
      bytes: scenario.load.bytes,
      timeoutMs: scenario.load.timeoutMs,
      replicas: scenario.load.acknowledgement.replicas,
    },
    outage: roundedOutage(outage),
    shards: shards.map(({ primary, slots }, index) => ({
      primary: primary ?? null,
      slots: formatRanges(slots),
      ...roundedOutage(outages[index] ?? { longestMs: 0, overMs: 0 }),
    })),
    helped: finding.helped,
    okMs: outage.overMs === null ? null : since(last.notServing),
    redundantMs: well ? since(last.notRedundant) : null,
    zoneSafeMs: well ? since(last.notZoneSafe) : null,
    verifiedMs: finding.verifiedMs === null ? null : since(finding.verifiedMs),
    unwell: finding.unwell,
    repaired: finding.repaired,
    writes: {
      due: writes.length,
      acknowledged: accounting.acknowledged,
      failed: accounting.failed,
      unknown: accounting.unknown,
      redirected: writes.filter(({ redirects }) => redirects > 0).length,
    },
    errors: countWriteErrors(writes),
    latency: latencyByPhase(
      writes.filter(({ dueMs }) => dueMs >= finding.steadyMs),
      faultMs,
      outage.overMs,
    ),
    lost: { count: accounting.lost.length, writes: accounting.lost.slice(0, MAX_LOST_WRITES_LISTED) },
    unknownDone: accounting.unknownDone,
    undecided: accounting.undecided,
    anomalies: [...accounting.anomalies],
    unread: accounting.unread,
    whyUnread: accounting.whyUnread ?? null,
    timeline: asRecorded(timelineOf(writes, faultMs)),
    states: finding.changes.map((change) => ({ ...change, atMs: rounded(change.atMs) })),
    events: finding.events.map(({ atMs, what }) => ({ atMs: rounded(atMs), what })),
  };
}

function asRecorded({
  fromMs,
  stepMs,
  acknowledged,
  failed,
  unknown,
}: ReturnType<typeof timelineOf>): ScenarioRecord["timeline"] {
  return { fromMs, stepMs, acknowledged: [...acknowledged], failed: [...failed], unknown: [...unknown] };
}

function roundedOutage({
  longestMs,
  overMs,
}: {
  readonly longestMs: number;
  readonly overMs: number | null;
}): ScenarioRecord["outage"] {
  return { longestMs: rounded(longestMs), overMs: overMs === null ? null : rounded(overMs) };
}

/** To a tenth of a millisecond. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
