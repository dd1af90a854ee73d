/** Fault targets: the deployments of a stack that faults are injected into, on this machine or in pods. */
import type { FaultSubject } from "../../faults/scenarios/scenario-run";
import type { PreconditionCheck } from "../../faults/injectors/preconditions";
import type { Programs } from "../../platforms/host/programs/programs";
import type { Verification } from "../../valkey/verification/verify";
import type { SubjectPlan, PlannedScenarioRun } from "../../stacks/plan/scenario-runs";

/** Receives facts about the deployments for the results. */
/** Deployments that faults are injected into, from opening to removal. */
export interface FaultTargetListener {
  readonly onPrograms: (programs: Programs) => void;
  /** @param formationMs null where the deployment was formed before */
  readonly onVerified: (verification: Verification, formationMs: number | null) => void;
}

export interface FaultTarget {
  /** Title of the step that opens the target. */
  readonly title: string;
  /** The deployments as they will be after opening. */
  readonly plans: readonly SubjectPlan[];
  /** Why a fault cannot be injected here. */
  readonly unmetPrecondition: PreconditionCheck;
  /** Starts or finds the deployments, and verifies them. @returns the title of the finished step */
  readonly open: (possible: readonly PlannedScenarioRun[], opened: FaultTargetListener) => Promise<string>;
  readonly subject: (deployment: string) => FaultSubject | undefined;
  /** Aborted when a server exits without a fault; undefined where exits are not watched. */
  readonly unexpectedExit: AbortSignal | undefined;
  /** Removes everything that the target made. @throws Failure with what could not be removed */
  readonly stop: () => Promise<void>;
}
