/** Every option of the load that a command lists changes what the command sends, or is refused. */
import { Command } from "commander";
import { expect, it } from "vitest";
import { requestedCapacitySearch } from "../../../cli/commands/capacity";
import { buildProgram } from "../../../cli/program";
import type { OptionValues } from "../../../cli/running/options";
import {
  addBenchmarkOptions,
  addSearchOptions,
  addStudyOptions,
  benchmarkOverrides,
  searchOverrides,
} from "../../../cli/running/options";
import { readStack } from "../../../cli/running/stack-config";
import { BadInput } from "../../../lib/errors";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import { configuredMixedWorkloads, fittedWorkload, studyTreatments } from "../../../stacks/plan/benchmark-plans";
import type { OptionOverrides } from "../../../stacks/config/sections/option-overrides";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { never } from "../../support/valkey/real";

/** Values that differ from all defaults. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ "--requests": "777", "--duration": "3", "--warmup": "4", "--repeats": "2", "--clients": "60" },
  ...{ "--pipeline": "7", "--datasize": "77", "--threads": "2", "--tests": "incr", "--keyspace-len": "32768" },
  ...{ "--rate": "770", "--workload-name": "mine", "--output": "there", "--load-generator": "open-loop" },
  ...{ "--reads": "0.7", "--data": "sorted-sets", "--arrivals": "fixed", "--keys": "zipfian" },
  ...{ "--read-from": "any", "--timeout-ms": "77" },
};
const OPEN_LOOP = ["--load-generator", "open-loop", "--rate", "5"];

const sent = (config: StackConfig): unknown => [
  fittedWorkload(config),
  configuredMixedWorkloads(config),
  [config.benchmark.repeats, config.benchmark.output],
];
const search = (config: StackConfig): unknown => [
  requestedCapacitySearch(config, { objective: parseObjective("p99=2ms"), search: {} }),
  config.benchmark.output,
];
const studied = ({ study, ...config }: StackConfig): unknown => [
  study && studyTreatments({ ...config, study }),
  config.benchmark.output,
];

interface Case {
  readonly add: (command: Command) => Command;
  readonly overrides: (values: OptionValues) => OptionOverrides;
  readonly effect: (config: StackConfig) => unknown;
  readonly given: readonly string[];
  /** Sections of the stack that differ from `local`. */
  readonly stack?: Readonly<Record<string, unknown>>;
}
const RUN = { add: addBenchmarkOptions, overrides: benchmarkOverrides, effect: sent };
const CAPACITY = { add: addSearchOptions, overrides: searchOverrides, effect: search, given: [] };
const STUDY = { add: addStudyOptions, overrides: benchmarkOverrides, effect: studied, given: [], stack: { study: {} } };
const steady = { loadGenerator: "open-loop", rate: 9, arrivals: "poisson", keySpace: 16_384, clients: 6 };
const CASES: Readonly<Record<string, Case>> = {
  "run and measure with tests": { ...RUN, given: [] },
  "run and measure with a mixed workload": { ...RUN, given: OPEN_LOOP },
  study: STUDY,
  capacity: CAPACITY,
  "capacity of a stack with an open loop": { ...CAPACITY, stack: { workloads: { steady } } },
};

const effectOf = ({ add, overrides, effect, stack = {} }: Case, args: readonly string[]): string => {
  const command = add(new Command()).exitOverride().parse(args, { from: "user" });
  return JSON.stringify(effect(readStack("local", (raw) => ({ ...raw, ...stack }), overrides(command.opts()))));
};

it.each(
  Object.entries(CASES).flatMap(([what, each]) =>
    each.add(new Command()).options.map(({ long }) => [String(long), what, each] as const),
  ),
)("%s of %s", (option, _what, each) => {
  const { given } = each;
  const before = effectOf(each, given);
  const others = given.includes(option) ? [] : given;
  const changed = (): string => effectOf(each, [...others, option, VALUES[option] ?? ""]);
  try {
    expect(changed()).not.toBe(before);
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    expect(error.message).toMatch(/--[a-z]/);
  }
});

it("are all options of the load that commands list", () => {
  const names = ({ options }: Command): unknown[] => options.map(({ long }) => long);
  const expected = { run: RUN, measure: RUN, capacity: CAPACITY, study: STUDY };
  const listed = buildProgram(never, () => undefined).commands.flatMap((command) => {
    const options = command.options.filter(({ helpGroupHeading = "" }) => /Load|workload/.test(helpGroupHeading));
    return options.length === 0 ? [] : [[command.name(), options.map(({ long }) => long)] as const];
  });
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries(Object.entries(expected).map(([command, { add }]) => [command, names(add(new Command()))])),
  );
});

it("keeps the rest of the stack's open loop when an option changes a part of it", () => {
  const config = readStack("local", (raw) => ({ ...raw, workloads: { steady } }), searchOverrides({ pipeline: 4 }));
  expect(configuredMixedWorkloads(config)).toMatchObject([{ name: "steady", pipeline: 4, keySpace: 16_384 }]);
});
