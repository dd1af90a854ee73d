/** Verdicts of a stack's deployments as text. Pure. */
import type { TopologyRecord } from "../../valkey/verification/topology-record";
import { verdictLine } from "../../valkey/verification/format";

/** A verdict and the time of its verification, as Pulumi's state has them. */
export interface DatedVerdict {
  readonly topology: TopologyRecord;
  /** Time of the verification, ISO 8601. */
  readonly verifiedAt: string;
}

/** Lines such as `VERIFY cluster: PASS — all 20 assertions hold; verified at 2026-07-20T10:00:00.000Z.` */
export function datedVerdictLines(verdicts: readonly DatedVerdict[]): string[] {
  return verdicts.map(({ topology: { deployment, verdict }, verifiedAt }) =>
    verdictLine({ deployment, ...verdict }, verifiedAt),
  );
}

/**
 * Line about verdicts from earlier updates. A verdict stays in the state until an input of its verification changes.
 * @param startedAt time at which this update started, ISO 8601
 * @returns no line if every verdict is from this update
 */
export function oldVerdictLines(verdicts: readonly DatedVerdict[], startedAt: string): string[] {
  const old = verdicts.filter(({ verifiedAt }) => verifiedAt < startedAt).map(({ topology }) => topology.deployment);
  if (old.length === 0) return [];
  return [`Not verified by this update: ${old.join(", ")}. To verify again, change valkey:verification.trigger.`];
}
