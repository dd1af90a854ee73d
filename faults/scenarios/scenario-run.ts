import type { ReportProgress } from "../../lib/progress";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultInjector } from "../injectors/fault-injector";
import type { Scenario } from "../plan/scenario";
import type { LostWrite } from "../writes/accounting";
import type { ScenarioRecord } from "./record-schema";

export interface FaultSubject {
  readonly injector: FaultInjector;
  readonly shape: Shape;
  /** Whether nodes promote a replica themselves; otherwise this program promotes it. */
  readonly hasAutomaticFailover: boolean;
  /** A fault strikes primaries in this order. */
  readonly initialPrimaries: readonly string[];
}

export interface ScenarioRun extends FaultSubject {
  readonly scenario: Scenario;
  readonly round: number;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

export interface ScenarioResult {
  readonly record: ScenarioRecord;
  /** The record lists only the first 100 of them. */
  readonly lost: readonly LostWrite[];
}
