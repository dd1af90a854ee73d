import { BadInput } from "../../lib/errors";
import { formatUsd } from "../../lib/dollars";
import { textTable } from "../../lib/table";
import { formatDuration } from "../../lib/units";
import { wrapped } from "../../lib/wrap";
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
  const toJson = (value: unknown): string => JSON.stringify(value, null, 1);
  if (stack !== undefined) {
    const plan = read(stack, assignments);
    print(...(json === true ? [toJson(plan)] : describePlan(plan).flatMap(fitted)));
    return 0;
  }
  const why = ` needs a stack: ${COMMAND} plan STACK --set PATH=VALUE`;
  if (assignments.length > 0) throw BadInput.of("the options", "set-without-stack", why, "--set");
  const names = stackNames(STACKS_DIRECTORY);
  if (json === true) print(toJson(names.map((name) => read(name, []))));
  else print(...listing(names), "", `Details of one stack: ${COMMAND} plan STACK`);
  return 0;
}

function listing(names: readonly string[]): string[] {
  const rows = names.map(row);
  const table = [["stack", "platform", "per hour", "takes"], ...rows.map((each) => each.slice(0, 4))];
  const [head = "", ...lines] = textTable(table, "  rr");
  return [head, ...lines.flatMap((line, index) => [line, ...wrapped(rows[index]?.[4] ?? "", "    ", "    ")])];
}

function fitted(line: string): string[] {
  const indent = /^ */.exec(line)?.[0] ?? "";
  return wrapped(line.slice(indent.length), indent, `${indent}    `);
}

function read(stack: string, assignments: readonly string[]): StackPlan {
  const config = readStack(stack, (raw) => applyOverrides(raw, assignments));
  return planStack(stack, config);
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
