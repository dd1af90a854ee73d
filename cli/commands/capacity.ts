/** `npm start -- capacity`: finds the highest offered rate at which each deployment meets a latency objective. */
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

/** Options of `capacity`. These options override the stack's section `capacity`. */
export interface CapacityOptions {
  readonly objective?: Objective | undefined;
  readonly search: Partial<SearchPlan>;
}

/** Command-line options, by the names that the configuration uses for the same options. */
const OPTIONS: Readonly<Record<string, string>> = {
  objective: "--objective",
  initialRate: "--initial-rate",
  maxRate: "--max-rate",
  precision: "--precision",
  confirmations: "--confirmations",
};

const optionsSchema = capacitySchema.omit({ workload: true }).partial();

/** Converts commander's values to the options of `capacity`. @throws BadInput with every problem */
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
 * The search that the stack configures, with the values of the command line in place of the stack's values. The search
 * uses the first of these workloads that exists:
 * - the workload that the stack names;
 * - the stack's first open-loop workload;
 * - an open loop with default options, and with the stack's number of keys and value size.
 * @throws BadInput if neither the stack nor the command line names an objective
 */
export function requestedCapacitySearch(config: StackConfig, requested: CapacityOptions): CapacitySearch {
  const { capacity } = config;
  const objective = requested.objective ?? capacity?.objective;
  if (objective === undefined) {
    const remedy = "expected a percentile and a time, such as p99=2ms";
    throw BadInput.of(
      "capacity",
      "no-objective",
      ` is missing, and the stack has no valkey:capacity: ${remedy}`,
      "--objective",
    );
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
  if (mix === undefined) throw new Error("the standard workload must be an open-loop workload");
  return mix;
}

/** Inputs of the step that searches for capacities. */
export interface CapacityStep {
  readonly wanted: CapacitySearch;
  /**
   * Returns the deployments to search. This function is called when the step runs, because deployments are not verified
   * earlier.
   */
  readonly deployments: () => readonly VerifiedDeployment[];
  readonly runners: () => Promise<LoadDrivers>;
  readonly collector: ResultsCollector;
}

/** The step that searches for the capacity of every verified deployment. */
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
