/** Where deployments are that are broken on purpose: who runs them, and what can be done to them there. */
import type { FaultSubject } from "../../faults/scenarios/run-scenarios";
import type { PreconditionCheck } from "../../faults/injectors/preconditions";
import type { Programs } from "../../platforms/host/programs";
import type { Verification } from "../../valkey/verification/verify";
import type { SubjectPlan, PlannedScenarioRun } from "../../stacks/plan/scenario-runs";

/** Told what results say of the deployments. */
export interface FaultTargetListener {
  readonly onPrograms: (programs: Programs) => void;
  /** @param formationMs null where they were formed before */
  readonly onVerified: (verification: Verification, formationMs: number | null) => void;
}

export interface FaultTarget {
  /** Of the step that opens it. */
  readonly title: string;
  /** The deployments as they will be when all is open. */
  readonly plans: readonly SubjectPlan[];
  /** Why a fault cannot be inflicted here. */
  readonly unmetPrecondition: PreconditionCheck;
  /** Starts deployments or finds them, and verifies. @returns what came of it */
  readonly open: (possible: readonly PlannedScenarioRun[], opened: FaultTargetListener) => Promise<string>;
  readonly subject: (deployment: string) => FaultSubject | undefined;
  /** Aborted when a server ends that nobody meant to end; undefined where nobody watches. */
  readonly unexpectedExit: AbortSignal | undefined;
  /** Leaves nothing behind that this has made. @throws Failure saying what could not be taken away */
  readonly stop: () => Promise<void>;
}
