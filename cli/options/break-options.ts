/** Options of `break`. */
import type { Command } from "commander";
import { parseNumber } from "./options";

/** Options of `break`. */
export interface BreakOptions {
  /** Names of the scenarios; undefined is all. */
  readonly scenarios: readonly string[] | undefined;
  /** Values that replace those of every scenario; as typed, for the schema to check. */
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly output: string | undefined;
  /** Print the planned scenarios, and inject nothing. */
  readonly plan: boolean;
}

/** Adds them to a command. */
export function addBreakOptions(command: Command): Command {
  const collectNames = (value: string, previous: readonly string[] | undefined): string[] => [
    ...(previous ?? []),
    ...value.split(","),
  ];
  return command
    .option("--scenario <names>", "scenarios, with commas or several times (default: all)", collectNames)
    .option("--repeats <n>", "repeats of each scenario (default: the stack's)", parseNumber)
    .option("--rate <n>", "offered rate, writes per second (default: the stack's)", parseNumber)
    .option("--output <dir>", "directory of the results (default: results/TIME)")
    .option("--plan", "print the planned scenarios, and inject nothing");
}

/** From commander's values. */
export function breakOptions(values: Readonly<Record<string, unknown>>): BreakOptions {
  const { scenario, output, plan, repeats, rate } = values;
  return {
    scenarios: Array.isArray(scenario) ? scenario.map(String) : undefined,
    overrides: { ...(repeats === undefined ? {} : { repeats }), ...(rate === undefined ? {} : { rate }) },
    output: typeof output === "string" ? output : undefined,
    plan: plan === true,
  };
}
