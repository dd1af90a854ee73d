/** Forms a cluster from running nodes. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { form } from "../../valkey/formation/form";
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
}

const handler: ResourceHandler<FormationInputs, FormationOutputs> = {
  create: async ({ target, password, timeoutSeconds }, context) => {
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(target, password, options);
    const { milliseconds } = await form(deployment, target.shape, { timeoutMs: options.timeoutMs });
    return { id: target.name, outputs: { milliseconds } };
  },
};
export default handler;
