/** Where deployments are that are broken on purpose: who runs them, and what can be done to them there. */
import type { Sufferer } from "../../faults/break-all";
import type { Obstacle } from "../../faults/obstacles";
import type { Programs } from "../../platforms/host/programs";
import type { Verification } from "../../valkey/verification/verify";
import type { BrokenPlan, Pairing } from "../../stacks/plan/failure-plans";

/** Told what results say of the deployments. */
export interface Opened {
  readonly programs: (programs: Programs) => void;
  /** @param formationMs null where they were formed before */
  readonly verified: (verification: Verification, formationMs: number | null) => void;
}

export interface Ground {
  /** Of the step that opens it. */
  readonly title: string;
  /** The deployments as they will be when all is open. */
  readonly plans: readonly BrokenPlan[];
  /** Why a fault cannot be inflicted here. */
  readonly obstacle: Obstacle;
  /** Starts deployments or finds them, and verifies. @returns what came of it */
  readonly open: (possible: readonly Pairing[], opened: Opened) => Promise<string>;
  readonly sufferer: (deployment: string) => Sufferer | undefined;
  /** Aborted when a server ends that nobody meant to end; undefined where nobody watches. */
  readonly died: AbortSignal | undefined;
  /** Leaves nothing behind that this has made. @throws Failure saying what could not be taken away */
  readonly stop: () => Promise<void>;
}
