/** Search for the highest load at which deployments meet a latency objective. */
import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { capacitySchema, searchOf } from "../benchmarks/capacity/capacity-schema";
import type { CapacityRecord } from "../benchmarks/results/schema";
import { benchmarkFields } from "../benchmarks/workloads/benchmark-schema";
import { benchmarkWorkload, mixedWorkloads } from "../benchmarks/workloads/configured-workloads";
import { openLoopSchema } from "../benchmarks/workloads/mixed-workload-schema";
import type { MeasuringArgs } from "./measuring/arguments";
import { type PlannedLoads, MeasuringComponent } from "./measuring/measuring-component";
import { checkedArgs, measuringFields } from "./measuring/schema";
import type { OpenLoopArgs, SearchArgs } from "./measuring/workload-arguments";

/** Arguments of a `LoadCapacity`. All have defaults except the targets and the objective. */
export interface LoadCapacityArgs extends MeasuringArgs, SearchArgs {
  /**
   * Workload that is offered at the rates of the search.
   * @default 90 % reads of strings of 256 bytes, 48 connections
   */
  readonly workload?: OpenLoopArgs | undefined;
  /** Duration of each offered load, seconds. @default 10 */
  readonly duration?: number | undefined;
  /**
   * Duration of the load that precedes each offered load, seconds. The requests of the preceding load are not counted.
   * @default 1
   */
  readonly warmup?: number | undefined;
  /**
   * Whether the number of connections is adjusted if the primaries of a cluster cannot share it evenly. With `false`, a
   * number that cannot be shared evenly is refused.
   * @default true
   */
  readonly adjustLoad?: boolean | undefined;
}

const WORKLOAD = "reads and writes";

const argsSchema = z.strictObject({
  ...measuringFields,
  ...capacitySchema.omit({ workload: true }).shape,
  workload: openLoopSchema.omit({ loadGenerator: true, rate: true }).prefault({}),
  duration: benchmarkFields.duration,
  warmup: benchmarkFields.warmup,
  adjustLoad: z.boolean().default(true),
});

/**
 * Searches for the capacity of one target after another. The component offers rising loads with an open loop until a
 * load misses the objective. Then it repeats measurements near that load to confirm the result. Each target is verified
 * before and after the search. A target that fails the verification is not measured. If a target fails the verification
 * afterwards, the update fails, and the report stays.
 *
 * @example
 * const capacity = new LoadCapacity("orders-capacity", { targets: [orders], objective: "p99=2ms" });
 * export const highest = capacity.capacities.apply(([first]) => first?.capacity);
 */
export class LoadCapacity extends MeasuringComponent {
  /**
   * Result for each target: the capacity in requests per second, the loads that were tried, the knee and the
   * bottleneck.
   */
  readonly capacities: pulumi.Output<readonly CapacityRecord[]>;

  /** @throws BadInput with every problem of the arguments */
  constructor(name: string, args: LoadCapacityArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:LoadCapacity", name, args, plannedLoads(name, args), options);
    this.capacities = this.results.apply(({ capacities }) => capacities);
    const { capacities, report, summary } = this;
    this.registerOutputs({ capacities, report, summary });
  }
}

function plannedLoads(name: string, args: LoadCapacityArgs): PlannedLoads {
  const parsed = checkedArgs(`LoadCapacity ${name}`, argsSchema, { ...args });
  const { workload, duration, warmup, adjustLoad, ...search } = parsed;
  // The search sets the rate.
  const offered = { ...workload, loadGenerator: "open-loop" as const, rate: search.initialRate };
  const [mixed] = mixedWorkloads({ duration, warmup, requests: undefined }, { [WORKLOAD]: offered }, false);
  if (mixed?.loadGenerator !== "open-loop") throw new Error("a search for the capacity needs an open-loop workload");
  const benchmark = z.strictObject(benchmarkFields).parse({ duration, warmup });
  return {
    workload: benchmarkWorkload({ ...benchmark, tests: [] }),
    mixes: [],
    capacity: searchOf({ ...search, workload: undefined }, [mixed]),
    adjustLoad,
    repeats: 1,
  };
}
