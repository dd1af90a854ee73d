/** `npm start -- plan`: what a stack would create, take and cost, without an engine or a cloud. */
import { totalmem } from "node:os";
import { availableCores } from "../../benchmarks/measuring/cpu";
import { parseConfig } from "../config";
import { print } from "../output";
import { STACKS } from "../paths";
import { describePlan } from "../plan/describe";
import { planStack } from "../plan/stack-plan";
import { readStackFile } from "../stack-file";

/**
 * @returns 0
 * @throws BadInput with everything that is wrong with the stack
 */
export function planOf(stack: string, values: Readonly<Record<string, unknown>>): number {
  const config = parseConfig(`stack ${stack}`, readStackFile(STACKS, stack), { cores: availableCores(), memoryBytes: totalmem() });
  const plan = planStack(stack, config);
  if (values["json"] === true) print(JSON.stringify(plan, null, 1));
  else print(...describePlan(plan));
  return 0;
}
