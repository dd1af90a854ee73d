/** Waits for the pods of a StatefulSet. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { RolloutInputs } from "../handlers/rollout";

/**
 * Done when all pods run the StatefulSet's newest revision and are ready. It replaces Pulumi's own waiting, which does
 * not say why pods do not run.
 */
export class Rollout extends ValkeyResource {
  /** Time when all pods were as wanted, ISO 8601. */
  declare readonly rolledOutAt: Output<string | undefined>;

  constructor(name: string, inputs: InputsOf<RolloutInputs>, options: CustomResourceOptions = {}) {
    super("Rollout", name, { ...inputs, rolledOutAt: undefined }, options);
  }
}
