/** `npm start -- capacity`: the highest load that each deployment of a stack takes within an objective. */
import type { Objective } from "../../benchmarks/capacity/objective";
import { formatObjective, parseObjective } from "../../benchmarks/capacity/objective";
import type { SearchPlan } from "../../benchmarks/capacity/search";
import { BadInput } from "../../lib/errors";
import type { LoadRunners } from "../../benchmarks/measuring/measurement-series";
import type { CapacitySearch } from "../../benchmarks/measuring/measure-all";
import { findCapacities } from "../../benchmarks/measuring/measure-all";
import type { VerifiedDeployment } from "../../benchmarks/measuring/session";
import type { ResultsCollector } from "../../benchmarks/results/collector";
import type { OpenLoopWorkload } from "../../benchmarks/workloads/mixed-workload";
import { configuredCapacitySearch, openLoopWorkloads } from "../../stacks/plan/benchmark-plans";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { DEFAULT_SEARCH, searchPlan } from "../../stacks/config/schema/capacity";
import { workloadSchema } from "../../stacks/config/schema/workloads";
import type { Step } from "../steps";

/** What is asked for on the command line, in place of what the stack asks for. */
export interface CapacityOptions {
  readonly objective?: Objective | undefined;
  readonly search: Partial<SearchPlan>;
}

/** Options of the command line, by key. */
const OPTIONS = {
  initialRate: "initial-rate",
  maxRate: "max-rate",
  precision: "precision",
  confirmations: "confirmations",
} as const satisfies Record<keyof SearchPlan, string>;

/** @throws BadInput with every problem */
export function capacityOptions(values: Readonly<Record<string, unknown>>): CapacityOptions {
  const problems: string[] = [];
  const number = (key: keyof SearchPlan, holds: (value: number) => boolean, expected: string): Partial<SearchPlan> => {
    const text = values[key];
    if (text === undefined) return {};
    const value = Number(text);
    if (!holds(value)) problems.push(`--${OPTIONS[key]} is ${JSON.stringify(text)}: expected ${expected}`);
    return { [key]: value };
  };
  const search = {
    ...number("initialRate", (value) => Number.isInteger(value) && value >= 1, "requests per second, a whole number"),
    ...number("maxRate", (value) => Number.isInteger(value) && value >= 1, "requests per second, a whole number"),
    ...number("precision", (value) => value >= 0.01 && value <= 1, "a part from 0.01 to 1"),
    ...number(
      "confirmations",
      (value) => Number.isInteger(value) && value >= 1 && value <= 20,
      "a whole number from 1 to 20",
    ),
  };
  const text = values["objective"];
  let objective: Objective | undefined;
  if (typeof text === "string") {
    try {
      objective = parseObjective(text);
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      problems.push(...error.problems.map((problem) => `--objective: ${problem}`));
    }
  }
  if (problems.length > 0) throw new BadInput("capacity", problems);
  return { objective, search };
}

/**
 * The stack's own search with what the command line has in place of it. The load is the stack's, or its first of the open loop,
 * or that load generator's defaults with the stack's key space.
 * @throws BadInput where neither names an objective
 */
export function requestedCapacitySearch(config: StackConfig, wanted: CapacityOptions): CapacitySearch {
  const { capacity } = config;
  const objective = wanted.objective ?? capacity?.objective;
  if (objective === undefined)
    throw new BadInput("capacity", [
      "--objective is missing, and the stack has no valkey:capacity: expected a percentile and a time, such as p99=2ms",
    ]);
  return {
    workload: configuredCapacitySearch(config)?.workload ?? openLoopWorkloads(config)[0] ?? standardMix(config),
    objective,
    search: { ...DEFAULT_SEARCH, ...(capacity === undefined ? {} : searchPlan(capacity)), ...wanted.search },
  };
}

function standardMix(config: StackConfig): OpenLoopWorkload {
  const { keySpace, clients, dataSize } = config.benchmark;
  const standard = workloadSchema.parse({
    loadGenerator: "open-loop",
    rate: 1,
    keySpace,
    clients,
    values: { sizes: "fixed", bytes: dataSize },
  });
  const [mix] = openLoopWorkloads({ ...config, workloads: { "reads and writes": standard } });
  if (mix === undefined) throw new Error("the standard workload is one of the open loop");
  return mix;
}

export interface CapacityStep {
  readonly wanted: CapacitySearch;
  /** Asked when the step runs. */
  readonly contenders: () => readonly VerifiedDeployment[];
  readonly equipment: () => Promise<LoadRunners>;
  readonly collector: ResultsCollector;
}

export function capacityStep({ wanted, contenders, equipment, collector }: CapacityStep): Step {
  const objective = formatObjective(wanted.objective);
  return {
    title: `Find the capacity: ${objective}`,
    run: async (report) => {
      const all = contenders();
      const found = await equipment();
      await findCapacities({ ...wanted, deployments: all }, 1, found, collector, report);
      found.signal.throwIfAborted();
      return `Found the capacity of ${all.length === 1 ? "one deployment" : `${all.length} deployments`}: ${objective}`;
    },
  };
}
