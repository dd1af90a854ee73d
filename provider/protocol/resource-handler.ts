/** Operations of a custom resource, apart from how a program declares it and from which engine asks for it. */
import { Failure } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/** Context that an update gives a handler, besides the resource's inputs. */
export interface HandlerContext {
  /** Aborted when the update is cancelled. A handler that waits ends then. */
  readonly signal: AbortSignal;
  /** Prints a line below the resource's progress. */
  readonly report: ReportProgress;
}

/** A reason to refuse a resource's inputs. */
export interface InputProblem {
  /** The input, such as `storage.size`; empty where no single input is the reason. */
  readonly property: string;
  /** A sentence. */
  readonly reason: string;
}

/** An update that failed, and outputs that the state gets all the same. For resources whose updates record attempts. */
export class FailedButSeen extends Failure {
  constructor(
    message: string,
    readonly outputs: object,
  ) {
    super(message);
  }
}

/**
 * The export `handler` of a module in `provider/handlers`. Inputs become outputs as well, so that a later diff has them.
 * Inputs and outputs are JSON values.
 */
export interface ResourceHandler<Inputs extends object, Outputs extends object> {
  /** @throws Error to fail the update; the next update tries again */
  readonly create: (
    inputs: Inputs,
    context: HandlerContext,
  ) => Promise<{ readonly id: string; readonly outputs: Outputs }>;
  /** @default `create` with the new inputs, whose ID is ignored */
  readonly update?: (
    id: string,
    olds: Inputs & Outputs,
    news: Inputs,
    context: HandlerContext,
    /** Inputs of updates that failed since the last one that succeeded, which `olds` is of. @default none */
    attempts?: readonly Inputs[],
  ) => Promise<Outputs>;
  /**
   * Whether an update that fails may have changed something. Its inputs are then kept in the state, and the next update runs whatever
   * its inputs are. `check` has the inputs that were tried last as `olds`. @default false
   */
  readonly recordsAttempts?: boolean;
  /** @default nothing is done */
  readonly delete?: (id: string, olds: Inputs & Outputs, context: HandlerContext) => Promise<void>;
  /**
   * Looks at what is there, for `pulumi refresh`.
   * @returns the outputs as they are now; undefined when the resource is gone
   * @default the outputs of the state
   */
  readonly read?: (id: string, state: Inputs & Outputs, context: HandlerContext) => Promise<Outputs | undefined>;
  /**
   * Whether the outputs of the state, which a refresh may have read anew, need an update although no input changed.
   * @default false
   */
  readonly drifted?: (state: Inputs & Outputs) => boolean;
  /**
   * Effect of a change of the inputs, for previews: which kind of change, how many nodes restart, what clients see.
   * @param news inputs that depend on resources that do not exist yet are undefined
   * @returns a sentence each. @default none
   */
  readonly describeChange?: (olds: Inputs, news: Partial<Inputs>) => readonly string[];
  /** Names of inputs whose change needs a replacement. */
  readonly replaceOn?: readonly string[];
  /** Names of inputs that need no update if only they change. The next update has their new values. */
  readonly silentInputs?: readonly string[];
  /** Names of outputs that are secret. Outputs of secret inputs always are. */
  readonly secretOutputs?: readonly string[];
  /**
   * Runs before any resource changes, also in a preview, and only when an input differs from the state.
   * @param olds undefined before the resource exists
   * @param news inputs that depend on resources that do not exist yet are undefined
   */
  readonly check?: (
    olds: Inputs | undefined,
    news: Partial<Inputs>,
    context: HandlerContext,
  ) => Promise<readonly InputProblem[]>;
}
