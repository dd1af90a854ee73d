/** From a stack's raw configuration to a StackConfig, with every problem found at once. Pure but for the machine's facts given to it. */
import type { z } from "zod";
import { BadInput } from "../../lib/errors";
import type { MachineFacts } from "./validation/deployments";
import { crossFieldProblems } from "./validation/deployments";
import { studyProblems } from "./validation/study";
import { studyTreatments } from "../plan/benchmark-plans";
import { withDerivedSettings } from "./derive";
import { describeIssues, unknownKey } from "./problems";
import type {
  BenchmarkConfig,
  DeploymentConfig,
  PlatformConfig,
  StackConfig,
  VerificationConfig,
} from "./schema/stack";
import {
  benchmarkSchema,
  DEFAULT_TESTS,
  deploymentName,
  deploymentSchema,
  platformSchema,
  SECTIONS,
  verificationSchema,
} from "./schema/stack";
import type { CapacityConfig } from "./schema/capacity";
import { capacitySchema } from "./schema/capacity";
import type { WorkloadConfig } from "./schema/workloads";
import { DEFAULT_LOAD_GENERATOR, workloadName, workloadSchema } from "./schema/workloads";
import type { ExperimentConfig } from "./schema/study";
import { studyConfigSchema } from "./schema/study";
import type { FailureConfig } from "./schema/failures";
import { failureName, failureSchema } from "./schema/failures";
import { CONFIG_NAMESPACE } from "./stack-file";

/** Values that replace the stack file's, by benchmark key; problems with them name the option instead of the file. */
export interface OptionOverrides {
  readonly benchmark: Readonly<Record<string, unknown>>;
  /** The one mixed workload of the command line, in place of the stack's workloads and, unless they are named too, tests. */
  readonly workload?: Readonly<Record<string, unknown>>;
  /** Benchmark key to option: `dataSize` → `--datasize`. */
  readonly options: Readonly<Record<string, string>>;
}

const NO_OVERRIDES: OptionOverrides = { benchmark: {}, options: {} };

type Path = readonly PropertyKey[];

/**
 * @param raw sections by name, as `readStackFile` or pulumi.Config gives them
 * @param machine what the platform `host` has to offer
 * @throws BadInput with every problem: schema and contradictions of whatever parts can be understood
 */
export function parseConfig(
  source: string,
  raw: Readonly<Record<string, unknown>>,
  machine: MachineFacts,
  overrides = NO_OVERRIDES,
): StackConfig {
  const parser = new SectionParser(raw, overrides);
  for (const name of Object.keys(raw)) {
    if (!(name in SECTIONS))
      parser.problems.push(unknownKey(`${CONFIG_NAMESPACE}:${name}`, name, Object.keys(SECTIONS)));
  }
  const platform = parser.platform();
  const deployments = parser.deployments();
  const verification = parser.verification();
  const benchmark = parser.benchmark();
  const before = parser.problems.length;
  const workloads = parser.workloads();
  // One that is not understood may be the very one that a capacity is searched for with.
  const areUnderstood = parser.problems.length === before;
  const capacity = parser.capacity();
  const experiment = parser.experiment();
  const failures = parser.failures();
  const measures = "benchmark" in raw || "workloads" in raw || "capacity" in raw;
  // A load that nobody asks for contradicts nothing; the command line's always is asked for.
  const load = measures || overrides !== NO_OVERRIDES ? benchmark : undefined;
  const problems = [
    ...parser.problems,
    ...crossFieldProblems(
      {
        platform,
        deployments,
        benchmark: load,
        workloads,
        capacity: overrides.workload === undefined && areUnderstood ? capacity : undefined,
        failures,
      },
      machine,
      parser.label,
    ),
  ];
  if (experiment !== undefined && benchmark !== undefined)
    problems.push(
      ...studyProblems(
        experiment,
        studyTreatments({ deployments: Object.fromEntries(deployments), benchmark, experiment }),
        parser.label,
      ),
    );
  if (problems.length > 0 || platform === undefined || verification === undefined || benchmark === undefined)
    throw new BadInput(source, problems);
  return {
    platform,
    verification,
    deployments: Object.fromEntries(
      deployments.map(([name, deployment]) => [name, withDerivedSettings(deployment, platform)]),
    ),
    benchmark,
    workloads: Object.fromEntries(workloads),
    failures: Object.fromEntries(failures),
    measures,
    capacity,
    experiment,
  };
}

/**
 * What is measured where there is no stack: defaults and options.
 * @throws BadInput with every problem
 */
export function parseBenchmark(
  overrides: OptionOverrides,
): Pick<StackConfig, "workloads"> & { readonly benchmark: BenchmarkConfig } {
  const parser = new SectionParser({}, overrides);
  const benchmark = parser.benchmark();
  const workloads = Object.fromEntries(parser.workloads());
  if (benchmark === undefined || parser.problems.length > 0) throw new BadInput("the options", parser.problems);
  return { benchmark, workloads };
}

/** Parses each section for itself, and each deployment, so that a fault in one hides none in the others. */
class SectionParser {
  readonly problems: string[] = [];
  private readonly raw: Readonly<Record<string, unknown>>;

  constructor(
    raw: Readonly<Record<string, unknown>>,
    private readonly overrides: OptionOverrides,
  ) {
    this.raw = overrides.workload === undefined ? raw : withWorkload(raw, overrides.workload);
  }

  /** A path as the user wrote it. */
  readonly label = (path: Path): string => {
    const [section, key, inner] = path.map(String);
    const given =
      section === "benchmark" && key !== undefined && key in this.overrides.benchmark
        ? key
        : section === "workloads" && this.overrides.workload !== undefined
          ? inner
          : undefined;
    const option = given === undefined ? undefined : this.overrides.options[given];
    return option ?? `${CONFIG_NAMESPACE}:${path.map(String).join(".")}`;
  };

  platform(): PlatformConfig | undefined {
    const input = this.raw["platform"];
    const result = platformSchema.safeParse(input);
    if (result.success) return result.data;
    this.problems.push(
      ...describeIssues(platformSchema, input, result.error.issues, (path) => this.label(["platform", ...path])),
    );
    return undefined;
  }

  /** Those that can be understood. */
  deployments(): [string, DeploymentConfig][] {
    const input = this.raw["deployments"];
    if (!isMap(input) || Object.keys(input).length === 0) {
      this.problems.push(`${this.label(["deployments"])}: expected at least one deployment, by name`);
      return [];
    }
    return this.#entries("deployments", input, deploymentName, deploymentSchema);
  }

  /** Those that can be understood. */
  workloads(): [string, WorkloadConfig][] {
    const input = this.raw["workloads"] ?? {};
    if (!isMap(input)) {
      this.problems.push(`${this.label(["workloads"])}: expected workloads, by name`);
      return [];
    }
    const entries = Object.entries(input).map(([name, value]) => [
      name,
      isMap(value) ? { loadGenerator: DEFAULT_LOAD_GENERATOR, ...value } : value,
    ]);
    return this.#entries(
      "workloads",
      Object.fromEntries(entries) as Record<string, unknown>,
      workloadName,
      workloadSchema,
    );
  }

  /** Those that can be understood. */
  failures(): [string, FailureConfig][] {
    const input = this.raw["failures"] ?? {};
    if (isMap(input)) return this.#entries("failures", input, failureName, failureSchema);
    this.problems.push(`${this.label(["failures"])}: expected scenarios, by name`);
    return [];
  }

  #namesWorkloads(): boolean {
    const input = this.raw["workloads"];
    return isMap(input) && Object.keys(input).length > 0;
  }

  #entries<T>(
    section: string,
    input: Readonly<Record<string, unknown>>,
    nameSchema: z.ZodString,
    schema: z.ZodType<T>,
  ): [string, T][] {
    return Object.entries(input).flatMap(([name, value]): [string, T][] => {
      const path = [section, name];
      const named = nameSchema.safeParse(name);
      if (!named.success) this.problems.push(`${this.label(path)}: ${named.error.issues[0]?.message ?? "a bad name"}`);
      const result = schema.safeParse(value);
      if (result.success) return [[name, result.data]];
      this.problems.push(
        ...describeIssues(schema, value, result.error.issues, (rest) => this.label([...path, ...rest])),
      );
      return [];
    });
  }

  verification(): VerificationConfig | undefined {
    const input = this.raw["verification"] ?? {};
    const result = verificationSchema.safeParse(input);
    if (result.success) return result.data;
    this.problems.push(
      ...describeIssues(verificationSchema, input, result.error.issues, (path) =>
        this.label(["verification", ...path]),
      ),
    );
    return undefined;
  }

  /** Undefined as well where there is none. Where the command line's one workload takes the place of the stack's, that one is offered. */
  capacity(): CapacityConfig | undefined {
    const input = this.raw["capacity"];
    if (input === undefined) return undefined;
    const result = capacitySchema.safeParse(input);
    if (result.success)
      return this.overrides.workload === undefined ? result.data : { ...result.data, workload: undefined };
    this.problems.push(
      ...describeIssues(capacitySchema, input, result.error.issues, (path) => this.label(["capacity", ...path])),
    );
    return undefined;
  }

  /** Undefined as well where there is none. */
  experiment(): ExperimentConfig | undefined {
    const input = this.raw["experiment"];
    if (input === undefined) return undefined;
    const result = studyConfigSchema.safeParse(input);
    if (result.success) return result.data as ExperimentConfig;
    this.problems.push(
      ...describeIssues(studyConfigSchema, input, result.error.issues, (path) => this.label(["experiment", ...path])),
    );
    return undefined;
  }

  benchmark(): BenchmarkConfig | undefined {
    const section = this.raw["benchmark"] ?? {};
    const input: unknown =
      typeof section === "object" && !Array.isArray(section)
        ? withOverrides(section as Record<string, unknown>, this.overrides.benchmark)
        : section;
    const result = benchmarkSchema.safeParse(input);
    if (result.success)
      return { ...result.data, tests: result.data.tests ?? (this.#namesWorkloads() ? [] : DEFAULT_TESTS) };
    this.problems.push(
      ...describeIssues(benchmarkSchema, input, result.error.issues, (path) => this.label(["benchmark", ...path])),
    );
    return undefined;
  }
}

/** Named after its load generator. Its data are as large as the file's, whose servers have room for so much. */
function withWorkload(
  raw: Readonly<Record<string, unknown>>,
  workload: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { benchmark } = raw;
  const { keySpace, dataSize } = isMap(benchmark) ? benchmark : {};
  const size =
    dataSize === undefined
      ? {}
      : workload["loadGenerator"] === "open-loop"
        ? { values: { sizes: "fixed", bytes: dataSize } }
        : { dataSize };
  const rest = isMap(benchmark)
    ? Object.fromEntries(Object.entries(benchmark).filter(([key]) => key !== "tests"))
    : benchmark;
  return {
    ...raw,
    workloads: {
      [String(workload["loadGenerator"])]: { ...(keySpace === undefined ? {} : { keySpace }), ...size, ...workload },
    },
    ...(rest === undefined ? {} : { benchmark: rest }),
  };
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A duration given on the command line replaces the file's number of requests, and the other way round. */
function withOverrides(
  section: Readonly<Record<string, unknown>>,
  overrides: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged = { ...section, ...overrides };
  if ("duration" in overrides && !("requests" in overrides)) delete merged["requests"];
  if ("requests" in overrides && !("duration" in overrides)) delete merged["duration"];
  return merged;
}
