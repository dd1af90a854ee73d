/** `npm start -- plan`: prints a stack's resources, duration and cost, without Pulumi and without access to a cloud. */
import { totalmem } from "node:os";
import { BadInput } from "../../lib/errors";
import { availableCores } from "../../platforms/host/cpu";
import { formatUsd } from "../../lib/dollars";
import { textTable } from "../../lib/table";
import { formatDuration } from "../../lib/units";
import { parseConfig } from "../../stacks/config/parse";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { describePlan } from "../../stacks/plan/describe";
import type { StackPlan } from "../../stacks/plan/stack-plan-types";
import { planStack } from "../../stacks/plan/stack-plan";
import { applyOverrides } from "../../stacks/config/sections/overrides";
import { headline, readStackFile, stackNames } from "../../stacks/config/sections/stack-file";
import { COMMAND } from "../../lib/system/package";

/**
 * Prints a plan.
 * @param stack name of the stack; undefined for a table of all stacks
 * @returns 0
 * @throws BadInput with every problem of the stack
 */
export function printPlan(stack: string | undefined, values: Readonly<Record<string, unknown>>): number {
  const assignments = Array.isArray(values["set"]) ? values["set"].map(String) : [];
  const json = values["json"] === true;
  if (stack !== undefined) {
    const plan = read(stack, assignments);
    print(...(json ? [JSON.stringify(plan, null, 1)] : describePlan(plan)));
    return 0;
  }
  if (assignments.length > 0)
    throw BadInput.of(
      "the options",
      "set-without-stack",
      ` needs a stack: ${COMMAND} plan STACK --set PATH=VALUE`,
      "--set",
    );
  if (json)
    print(
      JSON.stringify(
        stackNames(STACKS_DIRECTORY).map((name) => read(name, [])),
        null,
        1,
      ),
    );
  else
    print(
      ...textTable([["stack", "platform", "per hour", "takes", ""], ...stackNames(STACKS_DIRECTORY).map(row)], "  rr "),
      "",
      `Details of one stack: ${COMMAND} plan STACK`,
    );
  return 0;
}

function read(stack: string, assignments: readonly string[]): StackPlan {
  return planStack(
    stack,
    parseConfig(`stack ${stack}`, applyOverrides(readStackFile(STACKS_DIRECTORY, stack), assignments), {
      cores: availableCores(),
      memoryBytes: totalmem(),
    }),
  );
}

/**
 * Row for one stack in the table of all stacks. If the stack has problems, the row names the command that prints them.
 */
function row(stack: string): string[] {
  try {
    const { platform, eks, duration } = read(stack, []);
    return [
      stack,
      platform,
      eks === null ? "" : eks.cost.usdPerHour === undefined ? "not known" : `$${formatUsd(eks.cost.usdPerHour)}`,
      formatDuration(duration.seconds),
      headline(STACKS_DIRECTORY, stack),
    ];
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    return [stack, "refused", "", "", `${COMMAND} plan ${stack} prints the problems`];
  }
}
