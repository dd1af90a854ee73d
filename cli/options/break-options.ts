/** Options of `break`. */
import type { Command } from "commander";
import { parseNumber } from "./options";

/** Options of `break`. */
export interface BreakOptions {
  /** Names of the scenarios; undefined means all. */
  readonly scenarios: readonly string[] | undefined;
  /** Values that override the values of every scenario, as the user typed them. The schema checks them. */
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly output: string | undefined;
  /** Whether the planned scenarios are only printed, and no fault is injected. */
  readonly plan: boolean;
}

/** Adds the options of `break` to a command. */
export function addBreakOptions(command: Command): Command {
  const collectNames = (value: string, previous: readonly string[] | undefined): string[] => [
    ...(previous ?? []),
    ...value.split(","),
  ];
  return command
    .option(
      "--scenario <names>",
      "names of scenarios, separated by commas; may be repeated (default: all)",
      collectNames,
    )
    .option("--repeats <n>", "repeats of each scenario (default: the stack's)", parseNumber)
    .option("--rate <n>", "offered rate, writes per second (default: the stack's)", parseNumber)
    .option("--output <dir>", "directory of the results (default: results/TIME)")
    .option("--plan", "print the planned scenarios, and inject nothing");
}

/** Converts commander's values to the options of `break`. */
export function breakOptions(values: Readonly<Record<string, unknown>>): BreakOptions {
  const { scenario, output, plan, repeats, rate } = values;
  return {
    scenarios: Array.isArray(scenario) ? scenario.map(String) : undefined,
    overrides: { ...(repeats === undefined ? {} : { repeats }), ...(rate === undefined ? {} : { rate }) },
    output: typeof output === "string" ? output : undefined,
    plan: plan === true,
  };
}
