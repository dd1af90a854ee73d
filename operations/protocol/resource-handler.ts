/** Operations of a custom resource, independent of Pulumi's protocol and of the declaration in a program. */
import { type Problem, Failure } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/** Name of the property of a resource's state that contains the inputs of failed updates. */
export const ATTEMPTS = "attempts";

export interface HandlerContext {
  /** A waiting handler must end at this signal. */
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** Its outputs are written to the state. Only handlers with `recordsAttempts` may throw it. */
export class FailedButSeen extends Failure {
  constructor(
    message: string,
    readonly outputs: object,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Type of the export `handler` of a module in `operations/handlers`. Inputs and outputs are JSON values. The state
 * contains the inputs and the outputs, so that a later diff can compare the inputs.
 */
export interface ResourceHandler<Inputs extends object, Outputs extends object> {
  /** Creates the resource. @throws Error if the update must fail; the next update tries again */
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
    /**
     * Inputs of updates that failed after the last successful update. `olds` comes from the last successful update.
     * @default none
     */
    attempts?: readonly Inputs[],
  ) => Promise<Outputs>;
  /**
   * Whether a failed update may have changed something. If true, the state keeps the inputs of the failed update, and
   * the next update runs even if its inputs equal the inputs of the last successful update. `check` gets the inputs of
   * the last attempt as `olds`.
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
   * Whether the outputs in the state need an update although no input changed. A refresh can change the outputs in the
   * state.
   * @default false
   */
  readonly drifted?: (state: Inputs & Outputs) => boolean;
  /**
   * Effect of a change of the inputs, for previews: the kind of change, the number of nodes that restart, and the
   * effect on clients.
   * @param news inputs that depend on resources that do not exist yet are undefined
   * @returns one sentence for each effect.
   * @default none
   */
  readonly describeChange?: (olds: Inputs, news: Partial<Inputs>) => readonly string[];
  /** Names of inputs whose change needs a replacement. */
  readonly replaceOn?: readonly string[];
  /**
   * Names of inputs whose change does not cause an update by itself. The next update gets the new values of these
   * inputs.
   */
  readonly silentInputs?: readonly string[];
  /** Names of outputs that are secret. Inputs that are secret stay secret as outputs without being named here. */
  readonly secretOutputs?: readonly string[];
  /**
   * Checks the inputs. This check runs before any resource changes, also in a preview, but only if an input differs
   * from the state.
   * @param olds undefined before the resource exists
   * @param news inputs that depend on resources that do not exist yet are undefined
   */
  readonly check?: (
    olds: Inputs | undefined,
    news: Partial<Inputs>,
    context: HandlerContext,
  ) => Promise<readonly Problem[]>;
}
