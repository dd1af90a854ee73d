import { form } from "../../valkey/formation/form";
import { openDeployment } from "../../platforms/deployment-reference";
import type { FormationInputs, FormationOutputs } from "../resources/formation";
import type { ResourceHandler } from "../dynamic-resource";

const handler: ResourceHandler<FormationInputs, FormationOutputs> = {
  create: async ({ target, password, timeoutSeconds }) => {
    const deployment = await openDeployment(target, password, timeoutSeconds);
    const { milliseconds } = await form(deployment, target.shape, { timeoutMs: timeoutSeconds * 1000 });
    return { id: target.name, outputs: { milliseconds } };
  },
};
export default handler;
