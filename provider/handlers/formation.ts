import { form } from "../../valkey/formation/form";
import { openTarget } from "../../platforms/target";
import type { FormationInputs, FormationOutputs } from "../resources/formation";
import type { Handler } from "../dynamic-resource";

const handler: Handler<FormationInputs, FormationOutputs> = {
  create: async ({ target, password, timeoutSeconds }) => {
    const deployment = await openTarget(target, password, timeoutSeconds);
    const { milliseconds } = await form(deployment, target.shape, { timeoutMs: timeoutSeconds * 1000 });
    return { id: target.name, outputs: { milliseconds } };
  },
};
export default handler;
