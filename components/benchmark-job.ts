/** Measurements of deployments beside each other: named tests, mixed workloads, and the capacity where it is asked for. */
import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { capacitySchema, searchOf } from "../benchmarks/capacity/capacity-schema";
import type { Comparison } from "../benchmarks/results/comparison";
import { benchmarkFields, DEFAULT_TESTS, hasOneLength, TWO_LENGTHS } from "../benchmarks/workloads/benchmark-schema";
import { benchmarkWorkload, mixedWorkloads } from "../benchmarks/workloads/configured-workloads";
import { workloadSchema } from "../benchmarks/workloads/mixed-workload-schema";
import { capacityProblems } from "../benchmarks/workloads/suitability";
import { BadInput } from "../lib/errors";
import { recordName } from "../lib/schema/fields";
import { isMap } from "../lib/schema/json-schema";
import type { MeasuringArgs } from "./measuring/arguments";
import type { PlannedLoads } from "./measuring/measuring-component";
import { MeasuringComponent } from "./measuring/measuring-component";
import { checkedArgs, dottedPath, measuringFields, withLoadGenerator } from "./measuring/schema";
import type { MixedWorkloadArgs, SearchArgs } from "./measuring/workload-arguments";

/** The search that follows the measurements. */
export interface BenchmarkCapacityArgs extends SearchArgs {
  /** Name of the open-loop workload that is offered. @default the first open-loop workload */
  readonly workload?: string | undefined;
}

/** All of it has defaults but the targets. */
export interface BenchmarkJobArgs extends MeasuringArgs {
  /** Tests of valkey-benchmark by name. @default set, get and incr; none where there are `workloads` */
  readonly tests?: readonly string[] | undefined;
  /** Tag of the results. @default the deployment's name */
  readonly workloadName?: string | undefined;
  /** Number of connections of the tests. @default 48 */
  readonly clients?: number | undefined;
  /** Requests in flight per connection, of the tests. @default 16 */
  readonly pipeline?: number | undefined;
  /** Value size of the tests, bytes. @default 256 */
  readonly dataSize?: number | undefined;
  /** Threads of the load generator, of the tests. @default 3 */
  readonly threads?: number | undefined;
  /**
   * Whether connections and threads that the primaries of a cluster cannot share evenly are adjusted; else they are
   * refused.
   * @default true
   */
  readonly adjustLoad?: boolean | undefined;
  /** Number of distinct keys of the tests; a multiple of 16384 where a target is a cluster. @default 1000000 */
  readonly keySpace?: number | undefined;
  /** Duration of each measurement, seconds. Excludes `requests`. @default 10 */
  readonly duration?: number | undefined;
  /** Number of requests of each measurement, in place of a duration. @default `duration` applies */
  readonly requests?: number | undefined;
  /** Load before each measurement that is not counted, seconds. @default 1 */
  readonly warmup?: number | undefined;
  /** Number of rounds. Confidence intervals of 95 % need six. @default 3 */
  readonly repeats?: number | undefined;
  /** Offered rate of the tests, all connections together, requests per second. @default unlimited */
  readonly rate?: number | undefined;
  /** Mixed workloads by name, measured after the tests. @default none */
  readonly workloads?: Readonly<Record<string, MixedWorkloadArgs>> | undefined;
  /** Search for the highest load within an objective, after everything else. @default no search */
  readonly capacity?: BenchmarkCapacityArgs | undefined;
}

const argsSchema = z
  .strictObject({
    ...benchmarkFields,
    ...measuringFields,
    adjustLoad: z.boolean().default(true),
    workloads: z.record(recordName, workloadSchema).default({}),
    capacity: capacitySchema.optional(),
  })
  .refine(hasOneLength, TWO_LENGTHS);

/**
 * Measures every target with the same load, interleaved and repeated, and keeps the results in the state: it measures
 * again when an argument changes. What does not pass verification is not measured.
 *
 * @example
 * const benchmark = new BenchmarkJob("orders-benchmark", { targets: [cluster, replication], tests: ["get", "set"] });
 * export const comparison = benchmark.comparison;
 */
export class BenchmarkJob extends MeasuringComponent {
  /** Each test on every target: rates with intervals, latencies, costs, warnings, and the speed-up. */
  readonly comparison: pulumi.Output<readonly Comparison[]>;

  /** @throws BadInput with every problem of the arguments */
  constructor(name: string, args: BenchmarkJobArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:BenchmarkJob", name, args, plannedLoads(name, args), options);
    this.comparison = this.measurement.comparison;
    const { comparison, report, summary } = this;
    this.registerOutputs({ comparison, report, summary });
  }
}

function plannedLoads(name: string, args: BenchmarkJobArgs): PlannedLoads {
  const { workloads } = args;
  const given = isMap(workloads)
    ? Object.fromEntries(Object.entries(workloads).map(([key, each]) => [key, withLoadGenerator(each)]))
    : workloads;
  const component = `BenchmarkJob ${name}`;
  const { capacity, ...benchmark } = checkedArgs(component, argsSchema, { ...args, workloads: given });
  const problems = capacity && capacityProblems(capacity, Object.entries(benchmark.workloads), dottedPath);
  if (problems !== undefined && problems.length > 0) throw new BadInput(component, problems);
  const mixes = mixedWorkloads(benchmark, benchmark.workloads, false);
  const tests = benchmark.tests ?? (mixes.length > 0 ? [] : DEFAULT_TESTS);
  const openLoops = mixes.flatMap((each) => (each.loadGenerator === "open-loop" ? [each] : []));
  return {
    workload: benchmarkWorkload({ ...benchmark, tests }),
    mixes,
    capacity: capacity && searchOf(capacity, openLoops),
    adjustLoad: benchmark.adjustLoad,
    repeats: benchmark.repeats,
  };
}
