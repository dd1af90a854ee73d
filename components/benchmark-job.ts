/** Measurements that compare deployments: named tests, mixed workloads and, on request, a search for the capacity. */
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
import { type PlannedLoads, MeasuringComponent } from "./measuring/measuring-component";
import { checkedArgs, dottedPath, measuringFields, withLoadGenerator } from "./measuring/schema";
import type { MixedWorkloadArgs, SearchArgs } from "./measuring/workload-arguments";

/** Search for the capacity. It runs after the measurements. */
export interface BenchmarkCapacityArgs extends SearchArgs {
  /** Name of the open-loop workload whose rate the search raises. @default the first open-loop workload */
  readonly workload?: string | undefined;
}

/** Arguments of a `BenchmarkJob`. All have defaults except the targets. */
export interface BenchmarkJobArgs extends MeasuringArgs {
  /** Names of valkey-benchmark tests. @default set, get and incr; no tests if there are `workloads` */
  readonly tests?: readonly string[] | undefined;
  /** Name of the workload in the results. @default the deployment's name */
  readonly workloadName?: string | undefined;
  /** Number of connections of the tests. @default 48 */
  readonly clients?: number | undefined;
  /** Number of requests in flight on each connection of the tests. @default 16 */
  readonly pipeline?: number | undefined;
  /** Value size of the tests, bytes. @default 256 */
  readonly dataSize?: number | undefined;
  /** Number of threads of the load generator in the tests. @default 3 */
  readonly threads?: number | undefined;
  /**
   * Whether the numbers of connections and threads are adjusted if the primaries of a cluster cannot share them evenly.
   * With `false`, numbers that cannot be shared evenly are refused.
   * @default true
   */
  readonly adjustLoad?: boolean | undefined;
  /**
   * Number of distinct keys of the tests. It is rounded to a multiple of 16384 if a target is a cluster. @default
   * 1000000
   */
  readonly keySpace?: number | undefined;
  /** Duration of each measurement, seconds. Set either `duration` or `requests`. @default 10 */
  readonly duration?: number | undefined;
  /** Number of requests of each measurement. Set either `requests` or `duration`. @default `duration` applies */
  readonly requests?: number | undefined;
  /** Duration of the load before each measurement, seconds. The requests of this load are not counted. @default 1 */
  readonly warmup?: number | undefined;
  /** Number of rounds. A confidence interval of 95 % needs six rounds. @default 3 */
  readonly repeats?: number | undefined;
  /** Rate that all connections of the tests offer together, requests per second. @default unlimited */
  readonly rate?: number | undefined;
  /** Mixed workloads by name, measured after the tests. @default none */
  readonly workloads?: Readonly<Record<string, MixedWorkloadArgs>> | undefined;
  /**
   * Search for the highest load that meets a latency objective. It runs after all other measurements.
   * @default no search
   */
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
 * Measures every target with the same load, in several rounds. Each round measures every target once with each test and
 * workload. The results are kept in Pulumi's state. A new measurement runs only when an argument changes. Each target
 * is verified before and after the measurements. A target that fails the verification is not measured. If a target fails
 * the verification afterwards, the update fails, and the report stays.
 *
 * @example
 * const benchmark = new BenchmarkJob("orders-benchmark", { targets: [cluster, replication], tests: ["get", "set"] });
 * export const comparison = benchmark.comparison;
 */
export class BenchmarkJob extends MeasuringComponent {
  /**
   * Comparison of the targets, one entry per test: request rates with confidence intervals, latencies, costs, warnings,
   * and the speed-up of the last target over the first.
   */
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
  // A program without a type checker may give no arguments.
  const { workloads } = { ...args };
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
