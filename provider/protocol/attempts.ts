/**
 * Inputs of failed updates, which the state of a resource keeps beside the inputs of the last update that
 * succeeded. Going back to these is then a change, which undoes what the attempts may have done.
 */
import { Failure, messageOf } from "../../lib/errors";
import type { Values } from "./engine-values";
import { canonicalJson } from "./engine-values";

/** Name of the property. */
export const ATTEMPTS = "attempts";

/** Splits what the engine has of a resource. */
export function takeAttempts(values: Values): { readonly state: Values; readonly attempts: readonly Values[] } {
  const { [ATTEMPTS]: attempts = [], ...state } = values;
  return { state, attempts: attempts as readonly Values[] };
}

/** The attempts with a further one. */
export function addAttempt(attempts: readonly Values[], inputs: Values): readonly Values[] {
  const added = canonicalJson(inputs);
  return [...attempts.filter((each) => canonicalJson(each) !== added), inputs];
}

/** A failed update, as Pulumi's server of providers passes it on: the engine keeps the properties in the state. */
export class UpdateFailed extends Failure {
  readonly reasons: readonly string[];

  constructor(
    cause: unknown,
    readonly id: string,
    readonly properties: Values,
  ) {
    super(messageOf(cause), { cause });
    this.reasons = [messageOf(cause)];
  }
}
