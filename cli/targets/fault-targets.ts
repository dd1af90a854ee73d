/** Fault targets: the deployments of a stack into which faults are injected, on this machine or in pods. */
import type { FaultSubject } from "../../faults/scenarios/scenario-run";
import type { PreconditionCheck } from "../../faults/injectors/preconditions";
import type { Programs } from "../../platforms/host/programs/programs";
import type { Verification } from "../../valkey/verification/verify";
import type { SubjectPlan, PlannedScenarioRun } from "../../stacks/plan/scenario-runs";

export interface FaultTargetListener {
  readonly onPrograms: (programs: Programs) => void;
  /** @param formationMs duration of the formation, milliseconds; null if the deployment was formed earlier */
  readonly onVerified: (verification: Verification, formationMs: number | null) => void;
}

export interface FaultTarget {
  readonly title: string;
  readonly plans: readonly SubjectPlan[];
  readonly unmetPrecondition: PreconditionCheck;
  /** @returns the title of the finished step */
  readonly open: (possible: readonly PlannedScenarioRun[], opened: FaultTargetListener) => Promise<string>;
  readonly subject: (deployment: string) => FaultSubject | undefined;
  /** @throws Failure with the names of what could not be removed */
  readonly stop: () => Promise<void>;
}
