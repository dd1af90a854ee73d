/** Operations of a custom resource, independent of Pulumi's protocol and of the declaration in a program. */
import { Failure } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/** Context of an operation, in addition to the resource's inputs. */
export interface HandlerContext {
  /** Signal that is aborted when the update is cancelled. A handler that waits must end then. */
  readonly signal: AbortSignal;
  /** Prints a line below the resource's progress. */
  readonly report: ReportProgress;
}

/** A reason to refuse a resource's inputs. */
export interface InputProblem {
  /** Path of the input, such as `storage.size`; empty if the problem is not in a single input. */
  readonly property: string;
  /** Reason, as a sentence. */
  readonly reason: string;
}

/** A failed update whose outputs are written to the state nevertheless. Only for handlers with `recordsAttempts`. */
export class FailedButSeen extends Failure {
  constructor(
    message: string,
    readonly outputs: object,
  ) {
    super(message);
  }
}

/**
 * Type of the export `handler` of a module in `provider/handlers`. The state keeps inputs together with the outputs, so
 * that a later diff can compare them. Inputs and outputs are JSON values.
 */
export interface ResourceHandler<Inputs extends object, Outputs extends object> {
  /** Creates the resource. @throws Error to fail the update; the next update tries again */
  readonly create: (
    inputs: Inputs,
    context: HandlerContext,
  ) => Promise<{ readonly id: string; readonly outputs: Outputs }>;
  /** Updates the resource. @default `create` is called with the new inputs, and the ID that it returns is ignored */
  readonly update?: (
    id: string,
    olds: Inputs & Outputs,
    news: Inputs,
    context: HandlerContext,
    /** Inputs of updates that failed after the last successful one, from which `olds` comes. @default none */
    attempts?: readonly Inputs[],
  ) => Promise<Outputs>;
  /**
   * Whether a failed update may have changed something. If true, its inputs are kept in the state, and the next update
   * runs even if its inputs equal those of the last successful one. `check` gets the inputs of the last attempt as
   * `olds`.
   * @default false
   */
  readonly recordsAttempts?: boolean;
  /** Deletes the resource. @default nothing is done */
  readonly delete?: (id: string, olds: Inputs & Outputs, context: HandlerContext) => Promise<void>;
  /**
   * Reads the present outputs, for `pulumi refresh`.
   * @returns the outputs as they are now; undefined when the resource is gone
   * @default the outputs of the state
   */
  readonly read?: (id: string, state: Inputs & Outputs, context: HandlerContext) => Promise<Outputs | undefined>;
  /**
   * Whether the outputs in the state need an update although no input changed. A refresh may have changed the outputs.
   * @default false
   */
  readonly drifted?: (state: Inputs & Outputs) => boolean;
  /**
   * Effect of a change of the inputs, for previews: the kind of change, the number of nodes that restart, and the
   * effect on clients.
   * @param news inputs that depend on resources that do not exist yet are undefined
   * @returns a sentence each. @default none
   */
  readonly describeChange?: (olds: Inputs, news: Partial<Inputs>) => readonly string[];
  /** Names of inputs whose change needs a replacement. */
  readonly replaceOn?: readonly string[];
  /** Names of inputs whose change does not cause an update by itself. The next update gets their new values. */
  readonly silentInputs?: readonly string[];
  /** Names of outputs that are secret. Inputs that are secret stay secret as outputs without being named here. */
  readonly secretOutputs?: readonly string[];
  /**
   * Checks the inputs. It runs before any resource changes, also in a preview, but only if an input differs from the
   * state.
   * @param olds undefined before the resource exists
   * @param news inputs that depend on resources that do not exist yet are undefined
   */
  readonly check?: (
    olds: Inputs | undefined,
    news: Partial<Inputs>,
    context: HandlerContext,
  ) => Promise<readonly InputProblem[]>;
}
