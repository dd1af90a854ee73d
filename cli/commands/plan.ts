import { BadInput } from "../../lib/errors";
import { formatUsd } from "../../lib/dollars";
import { textTable } from "../../lib/table";
import { formatDuration } from "../../lib/units";
import type { OptionValues } from "../running/options";
import { readStack } from "../running/stack-config";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { describePlan } from "../../stacks/plan/describe";
import type { StackPlan } from "../../stacks/plan/stack-plan-types";
import { planStack } from "../../stacks/plan/stack-plan";
import { applyOverrides } from "../../stacks/config/sections/overrides";
import { headline, stackNames } from "../../stacks/config/sections/stack-file";
import { COMMAND } from "../../lib/system/package";

export function printPlan(stack: string | undefined, { set, json }: OptionValues): number {
  const assignments = Array.isArray(set) ? set.map(String) : [];
  const printJson = (value: unknown): void => {
    print(JSON.stringify(value, null, 1));
  };
  if (stack !== undefined) {
    const plan = read(stack, assignments);
    if (json === true) printJson(plan);
    else print(...describePlan(plan));
    return 0;
  }
  if (assignments.length > 0)
    throw BadInput.of(
      "the options",
      "set-without-stack",
      ` needs a stack: ${COMMAND} plan STACK --set PATH=VALUE`,
      "--set",
    );
  const names = stackNames(STACKS_DIRECTORY);
  if (json === true) printJson(names.map((name) => read(name, [])));
  else
    print(
      ...textTable([["stack", "platform", "per hour", "takes", ""], ...names.map(row)], "  rr "),
      "",
      `Details of one stack: ${COMMAND} plan STACK`,
    );
  return 0;
}

function read(stack: string, assignments: readonly string[]): StackPlan {
  return planStack(
    stack,
    readStack(stack, (raw) => applyOverrides(raw, assignments)),
  );
}

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
