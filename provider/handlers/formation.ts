/** Forms a cluster from running nodes. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { form } from "../../valkey/formation/form";
import { inspectDeployment } from "../drift";
import type { ResourceHandler } from "../resource-handler";
import { waitOptions } from "../waiting";

export interface FormationInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Time limit of the formation. */
  readonly timeoutSeconds: number;
}

export interface FormationOutputs {
  /** From running nodes to a cluster that serves. */
  readonly milliseconds: number;
  /** What `pulumi refresh` found that a new formation has to mend, a sentence each; empty when nothing. */
  readonly drift: readonly string[];
}

export const handler: ResourceHandler<FormationInputs, FormationOutputs> = {
  create: async ({ target, password, timeoutSeconds }, context) => {
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(target, password, options);
    const { milliseconds } = await form(deployment, target.shape, { timeoutMs: options.timeoutMs });
    return { id: target.name, outputs: { milliseconds, drift: [] } };
  },
  read: async (_id, { target, password, milliseconds }, { signal }) => ({
    milliseconds,
    drift: (await inspectDeployment(target, password, signal)).drift,
  }),
  drifted: ({ drift }) => drift.length > 0,
};
