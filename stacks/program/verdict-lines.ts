/** Verdicts of a stack's deployments as text. Pure. */
import type { TopologyRecord } from "../../valkey/verification/topology-record";
import { verdictLine } from "../../valkey/verification/format";

/** A verdict as the state has it. */
export interface DatedVerdict {
  readonly topology: TopologyRecord;
  /** ISO 8601. */
  readonly verifiedAt: string;
}

/** `VERIFY cluster: PASS — all 19 assertions hold; verified at 2026-07-20T10:00:00.000Z.` */
export function datedVerdictLines(verdicts: readonly DatedVerdict[]): string[] {
  return verdicts.map(({ topology: { deployment, verdict }, verifiedAt }) =>
    verdictLine({ deployment, ...verdict }, verifiedAt),
  );
}

/**
 * Lines on verdicts that this update did not make: a verdict stays in the state until an input of its check changes.
 * @param startedAt of the update, ISO 8601
 * @returns no line where every verdict is of this update
 */
export function oldVerdictLines(verdicts: readonly DatedVerdict[], startedAt: string): string[] {
  const old = verdicts.filter(({ verifiedAt }) => verifiedAt < startedAt).map(({ topology }) => topology.deployment);
  if (old.length === 0) return [];
  return [`Not verified by this update: ${old.join(", ")}. To verify again, change valkey:verification.trigger.`];
}
