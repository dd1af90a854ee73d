/** Inputs and result of one run of a scenario. */
import type { ReportProgress } from "../../lib/progress";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultInjector } from "../injectors/fault-injector";
import type { Scenario } from "../plan/scenario";
import type { LostWrite } from "../writes/accounting";
import type { ScenarioRecord } from "./scenario-schema";

/** A deployment that faults are injected into. */
export interface FaultSubject {
  readonly injector: FaultInjector;
  readonly shape: Shape;
  /** Whether a replica in replication mode is promoted without this program, by Sentinels. */
  readonly hasAutomaticFailover: boolean;
  /**
   * Names of the primaries before each scenario. A fault that strikes one or several primaries takes them in this
   * order.
   */
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
  /** All lost writes. The record lists only the first ones. */
  readonly lost: readonly LostWrite[];
}
