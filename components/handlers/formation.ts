import { form } from "../../benchmarks/formation/form";
import { openTarget } from "../../benchmarks/target";
import type { FormationInputs, FormationOutputs } from "../formation";
import type { Handler } from "../handled";

const handler: Handler<FormationInputs, FormationOutputs> = {
  create: async ({ target, password, timeoutSeconds }) => {
    const deployment = await openTarget(target, password, timeoutSeconds);
    const { milliseconds } = await form(deployment, target.shape, { timeoutMs: timeoutSeconds * 1000 });
    return { id: target.name, outputs: { milliseconds } };
  },
};
export default handler;
