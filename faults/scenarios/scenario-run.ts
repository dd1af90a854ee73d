/** Inputs and result of one run of a scenario. */
import type { ReportProgress } from "../../lib/progress";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultInjector } from "../injectors/fault-injector";
import type { Scenario } from "../plan/scenario";
import type { LostWrite } from "../writes/accounting";
import type { ScenarioRecord } from "./record-schema";

/** A deployment into which faults are injected. */
export interface FaultSubject {
  readonly injector: FaultInjector;
  readonly shape: Shape;
  /** Whether Sentinels promote a replica in replication mode. If not, this program promotes it. */
  readonly hasAutomaticFailover: boolean;
  /** Names of the primaries before each scenario. A fault strikes primaries in this order. */
  readonly initialPrimaries: readonly string[];
}

/** One run of a scenario on one deployment. */
export interface ScenarioRun extends FaultSubject {
  readonly scenario: Scenario;
  /** Number of the repetition, from 1. */
  readonly round: number;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

export interface ScenarioResult {
  readonly record: ScenarioRecord;
  /** All lost writes. The record lists only the first 100 of them. */
  readonly lost: readonly LostWrite[];
}
