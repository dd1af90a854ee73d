/**
 * Inputs of failed updates (attempts). The state of a resource contains the attempts in addition to the inputs of the
 * last successful update. So an update that goes back to the last successful inputs counts as a change, and undoes the
 * effects of the attempts.
 */
import { Failure, messageOf } from "../../lib/errors";
import type { Values } from "./engine-values";
import { canonicalJson } from "./engine-values";
import { ATTEMPTS } from "./resource-handler";

/** Splits the values that Pulumi has of a resource into its state and its attempts. */
export function takeAttempts(values: Values): { readonly state: Values; readonly attempts: readonly Values[] } {
  const { [ATTEMPTS]: attempts = [], ...state } = values;
  return { state, attempts: attempts as readonly Values[] };
}

/** Adds the inputs of a failed update at the end of the attempts. An earlier attempt with equal inputs is removed. */
export function addAttempt(attempts: readonly Values[], inputs: Values): readonly Values[] {
  const added = canonicalJson(inputs);
  return [...attempts.filter((each) => canonicalJson(each) !== added), inputs];
}

/** A failed update, in the form that Pulumi's provider server expects. Pulumi keeps the properties in the state. */
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
