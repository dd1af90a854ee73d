/** Inputs and result of a run of a scenario. */
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
  /** Whether a replica in replication mode is promoted without this program (by Sentinels). */
  readonly hasAutomaticFailover: boolean;
  /** Names of the primaries before each scenario, in the order in which a fault of one or some primaries strikes them. */
  readonly initialPrimaries: readonly string[];
}

/** One run of a scenario on one deployment. */
export interface ScenarioRun extends FaultSubject {
  readonly scenario: Scenario;
  /** Which repetition this is, from 1. */
  readonly round: number;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

export interface ScenarioResult {
  readonly record: ScenarioRecord;
  /** All lost writes; the record lists only the first of them. */
  readonly lost: readonly LostWrite[];
}
