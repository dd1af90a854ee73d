/** What a custom resource does, apart from how a program declares it and from which engine asks for it. */
import type { ReportProgress } from "../lib/progress";

/** What an update tells a handler, besides the resource's inputs. */
export interface HandlerContext {
  /** Aborted when the update is cancelled. A handler that waits ends then. */
  readonly signal: AbortSignal;
  /** Prints a line below the update's progress. */
  readonly report: ReportProgress;
}

/**
 * The default export of a module in `provider/handlers`. Inputs become outputs as well, so that a later diff has them.
 * Inputs and outputs are JSON values.
 */
export interface ResourceHandler<Inputs extends object, Outputs extends object> {
  /** @throws Error to fail the update; the next update tries again */
  readonly create: (
    inputs: Inputs,
    context: HandlerContext,
  ) => Promise<{ readonly id: string; readonly outputs: Outputs }>;
  /** @default `create` with the new inputs, whose ID is ignored */
  readonly update?: (id: string, olds: Inputs & Outputs, news: Inputs, context: HandlerContext) => Promise<Outputs>;
  /** @default nothing is done */
  readonly delete?: (id: string, olds: Inputs & Outputs, context: HandlerContext) => Promise<void>;
  /** Whether the resource still exists, for `pulumi refresh`. @default it does */
  readonly exists?: (id: string, olds: Inputs & Outputs) => Promise<boolean>;
  /** Names of inputs whose change needs a replacement. */
  readonly replaceOn?: readonly string[];
  /**
   * Runs before any resource changes, also in a preview, and only when an input differs from the state.
   * @param olds undefined before the resource exists
   * @param news inputs that depend on resources that do not exist yet are undefined
   * @returns a sentence for each reason to refuse the inputs
   */
  readonly check?: (olds: Inputs | undefined, news: Partial<Inputs>) => Promise<readonly string[]>;
}

/** Modules of `provider/handlers` that export a handler. */
export type HandlerName =
  | "password"
  | "cluster-check"
  | "host-servers"
  | "scale-in"
  | "rollout"
  | "formation"
  | "topology-check"
  | "measurement"
  | "volume-deletion-wait";
