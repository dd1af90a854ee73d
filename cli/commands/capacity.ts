/** `npm start -- capacity`: the highest offered rate that each deployment takes within a latency objective. */
import { counted } from "../../lib/units";
import type { Objective } from "../../benchmarks/capacity/objective";
import { formatObjective } from "../../benchmarks/capacity/objective";
import type { SearchPlan } from "../../benchmarks/capacity/search";
import { BadInput } from "../../lib/errors";
import type { LoadDrivers } from "../../benchmarks/measuring/measurement-series";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import { findCapacities } from "../../benchmarks/run/measure-all";
import type { VerifiedDeployment } from "../../benchmarks/measuring/session";
import type { ResultsCollector } from "../../benchmarks/run/collector";
import type { OpenLoopWorkload } from "../../benchmarks/workloads/mixed-workload";
import { configuredCapacitySearch, openLoopWorkloads } from "../../stacks/plan/benchmark-plans";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { capacitySchema, DEFAULT_SEARCH, searchPlan } from "../../benchmarks/capacity/capacity-schema";
import { workloadSchema } from "../../benchmarks/workloads/mixed-workload-schema";
import { describeIssues } from "../../lib/schema/problems";
import { parseNumber } from "../options/options";
import type { Step } from "../terminal/steps";

/** Options of `capacity`; they override the stack's. */
export interface CapacityOptions {
  readonly objective?: Objective | undefined;
  readonly search: Partial<SearchPlan>;
}

/** Configuration key to option. */
const OPTIONS: Readonly<Record<string, string>> = {
  objective: "--objective",
  initialRate: "--initial-rate",
  maxRate: "--max-rate",
  precision: "--precision",
  confirmations: "--confirmations",
};

const optionsSchema = capacitySchema.omit({ workload: true }).partial();

/** From commander's values. @throws BadInput with every problem */
export function capacityOptions(values: Readonly<Record<string, unknown>>): CapacityOptions {
  const keys = Object.keys(OPTIONS).filter((key) => values[key] !== undefined);
  const input = Object.fromEntries(
    keys.map((key) => [key, key === "objective" ? values[key] : parseNumber(String(values[key]))]),
  );
  const parsed = optionsSchema.safeParse(input);
  if (!parsed.success) {
    const label = ([key]: readonly PropertyKey[]): string => OPTIONS[String(key)] ?? String(key);
    throw new BadInput("capacity", describeIssues(optionsSchema, input, parsed.error.issues, label));
  }
  const given = Object.entries(parsed.data).filter(([key]) => key in input && key !== "objective");
  return { objective: parsed.data.objective, search: Object.fromEntries(given) };
}

/**
 * The stack's search, with what the command line replaces. The workload is the one that the stack names, else its first
 * open-loop workload, else the defaults of that load generator with the stack's keys and values.
 * @throws BadInput where neither names an objective
 */
export function requestedCapacitySearch(config: StackConfig, requested: CapacityOptions): CapacitySearch {
  const { capacity } = config;
  const objective = requested.objective ?? capacity?.objective;
  if (objective === undefined) {
    const remedy = "expected a percentile and a time, such as p99=2ms";
    throw new BadInput("capacity", [`--objective is missing, and the stack has no valkey:capacity: ${remedy}`]);
  }
  return {
    workload: configuredCapacitySearch(config)?.workload ?? openLoopWorkloads(config)[0] ?? standardMix(config),
    objective,
    search: { ...DEFAULT_SEARCH, ...(capacity === undefined ? {} : searchPlan(capacity)), ...requested.search },
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

/** Inputs of the step that finds capacities. */
export interface CapacityStep {
  readonly wanted: CapacitySearch;
  /** Asked when the step runs. */
  readonly deployments: () => readonly VerifiedDeployment[];
  readonly runners: () => Promise<LoadDrivers>;
  readonly collector: ResultsCollector;
}

/** The step that finds the capacity of every verified deployment. */
export function capacityStep({ wanted, deployments, runners, collector }: CapacityStep): Step {
  const objective = formatObjective(wanted.objective);
  return {
    title: `Find the capacity: ${objective}`,
    run: async (report) => {
      const all = deployments();
      const found = await runners();
      await findCapacities({ ...wanted, deployments: all }, 1, found, collector, report);
      found.signal.throwIfAborted();
      return `Found the capacity of ${counted(all.length, "deployment")}: ${objective}`;
    },
  };
}
