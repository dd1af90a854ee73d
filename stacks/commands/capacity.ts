/** `npm start -- capacity`: the highest load that each deployment of a stack takes within an objective. */
import type { Objective } from "../../benchmarks/capacity/objective";
import { formatObjective, parseObjective } from "../../benchmarks/capacity/objective";
import { measureCapacities } from "../../benchmarks/capacity/measure-capacity";
import type { SearchPlan } from "../../benchmarks/capacity/search";
import { BadInput } from "../../benchmarks/errors";
import type { Contender } from "../../benchmarks/measuring/session";
import type { LoadRunner } from "../../benchmarks/measuring/tool-runner";
import type { OpenLoopRun } from "../../benchmarks/open-loop/local-runner";
import type { ResultsCollector } from "../../benchmarks/results/collector";
import { capacityLine } from "../../benchmarks/results/summary";
import type { OpenLoopMix } from "../../benchmarks/workloads/mix";
import { anyCluster, mixesOf } from "../plans";
import type { StackConfig } from "../schema";
import { workloadSchema } from "../schema-workloads";
import type { Step } from "../steps";

/** What is asked for on the command line. */
export interface CapacityWanted {
  readonly objective: Objective;
  readonly search: SearchPlan;
}

const DEFAULTS: SearchPlan = { start: 1_000, most: 10_000_000, precision: 0.1, confirmations: 2 };

/** @throws BadInput with every problem */
export function capacityWanted(values: Readonly<Record<string, unknown>>): CapacityWanted {
  const problems: string[] = [];
  const number = (key: keyof SearchPlan, holds: (value: number) => boolean, expected: string): number => {
    const text = values[key];
    const value = text === undefined ? DEFAULTS[key] : Number(text);
    if (!holds(value)) problems.push(`--${key} is ${JSON.stringify(text)}: expected ${expected}`);
    return value;
  };
  const search: SearchPlan = {
    start: number("start", (value) => Number.isInteger(value) && value >= 1, "requests per second, a whole number"),
    most: number("most", (value) => Number.isInteger(value) && value >= 1, "requests per second, a whole number"),
    precision: number("precision", (value) => value >= 0.01 && value <= 1, "a part from 0.01 to 1"),
    confirmations: number("confirmations", (value) => Number.isInteger(value) && value >= 1 && value <= 20, "a whole number from 1 to 20"),
  };
  const text = values["objective"];
  let objective: Objective | undefined;
  if (typeof text !== "string") problems.push("--objective is missing: expected a percentile and a time, such as p99=2ms");
  else {
    try {
      objective = parseObjective(text);
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      problems.push(...error.problems.map((problem) => `--objective: ${problem}`));
    }
  }
  if (objective === undefined || problems.length > 0) throw new BadInput("capacity", problems);
  return { objective, search };
}

/** The load that is offered: the stack's first of the open loop, or that driver's defaults with the stack's key space. */
export function capacityMix(config: StackConfig): OpenLoopMix {
  const found = mixesOf({ ...config, anyCluster: anyCluster(config) }).find((mix): mix is OpenLoopMix => mix.driver === "open-loop");
  if (found !== undefined) return found;
  const { keySpace, clients, dataSize } = config.benchmark;
  const standard = workloadSchema.parse({ driver: "open-loop", rate: 1, keySpace, clients, values: { sizes: "fixed", bytes: dataSize } });
  const [mix] = mixesOf({ ...config, workloads: { "reads and writes": standard }, anyCluster: anyCluster(config) });
  if (mix?.driver !== "open-loop") throw new Error("the standard workload is one of the open loop");
  return mix;
}

export interface CapacityStep {
  readonly config: StackConfig;
  readonly wanted: CapacityWanted;
  /** Asked when the step runs. */
  readonly contenders: () => readonly Contender[];
  readonly openLoop: () => LoadRunner<OpenLoopRun>;
  readonly collector: ResultsCollector;
  readonly signal: () => AbortSignal;
}

export function capacityStep({ config, wanted: { objective, search }, contenders, openLoop, collector, signal }: CapacityStep): Step {
  const mix = capacityMix(config);
  return {
    title: `Find the capacity: ${formatObjective(objective)}`,
    run: async (report) => {
      const lines: string[] = [];
      await measureCapacities({ contenders: contenders(), mix, objective, search }, { openLoop: openLoop(), signal: signal() }, report, (capacity) => {
        collector.addCapacity(capacity);
        lines.push(capacityLine(capacity));
        report(capacityLine(capacity));
      });
      signal().throwIfAborted();
      return `Found the capacity of ${lines.length} deployments: ${formatObjective(objective)}`;
    },
  };
}
