/** Sections and named entries are parsed separately, so that a problem in one does not hide problems in others. */
import { type Problem, problem } from "../../../lib/errors";
import type { z } from "zod";
import { DEFAULT_TESTS } from "../../../benchmarks/workloads/benchmark-schema";
import { isMap, type Path } from "../../../lib/schema/json-schema";
import { type OptionOverrides, withBenchmarkOptions, withWorkloadOption } from "./option-overrides";
import { describeIssues, unknownKey } from "../../../lib/schema/problems";
import type { BenchmarkConfig, VerificationConfig } from "../schema/benchmark";
import { benchmarkSchema, verificationSchema } from "../schema/benchmark";
import { type CapacityConfig, capacitySchema } from "../../../benchmarks/capacity/capacity-schema";
import { type DeploymentConfig, deploymentName, deploymentSchema } from "../schema/deployments";
import { type ScenarioConfig, failureSchema } from "../schema/failures";
import { recordName } from "../../../lib/schema/fields";
import { type PlatformConfig, platformSchema } from "../schema/platform";
import { SECTIONS } from "../schema/stack";
import { type StudySectionConfig, studyConfigSchema } from "../schema/study";
import type { WorkloadConfig } from "../../../benchmarks/workloads/mixed-workload-schema";
import { DEFAULT_LOAD_GENERATOR, workloadSchema } from "../../../benchmarks/workloads/mixed-workload-schema";
import { CONFIG_NAMESPACE } from "./stack-file";

export type Named<T> = readonly [name: string, config: T];

export interface Sections {
  readonly platform: PlatformConfig | undefined;
  readonly deployments: readonly Named<DeploymentConfig>[];
  readonly verification: VerificationConfig | undefined;
  readonly benchmark: BenchmarkConfig | undefined;
  readonly workloads: readonly Named<WorkloadConfig>[];
  readonly areWorkloadsValid: boolean;
  readonly capacity: CapacityConfig | undefined;
  readonly study: StudySectionConfig | undefined;
  readonly failures: readonly Named<ScenarioConfig>[];
}

export class SectionParser {
  readonly problems: Problem[] = [];
  readonly #raw: Readonly<Record<string, unknown>>;

  constructor(
    private readonly given: Readonly<Record<string, unknown>>,
    private readonly overrides: OptionOverrides,
  ) {
    this.#raw = overrides.workload === undefined ? given : withWorkloadOption(given, overrides);
  }

  readonly label = (path: Path): string => {
    const names = path.map(String);
    const key = this.#optionKey(names);
    const option = key === undefined ? undefined : this.overrides.options[key];
    return option ?? `${CONFIG_NAMESPACE}:${names.join(".")}`;
  };

  parseAll(): Sections {
    for (const name of Object.keys(this.given)) {
      if (name in SECTIONS) continue;
      this.problems.push(unknownKey(`${CONFIG_NAMESPACE}:${name}`, name, Object.keys(SECTIONS)));
    }
    const platform = this.#section("platform", platformSchema, this.#raw["platform"]);
    const deployments = this.#deployments();
    const verification = this.#section("verification", verificationSchema, this.#raw["verification"] ?? {});
    const benchmark = this.benchmark();
    const problemsBefore = this.problems.length;
    const workloads = this.workloads();
    const areWorkloadsValid = this.problems.length === problemsBefore;
    const capacity = this.#capacity();
    const study = this.#optional("study", studyConfigSchema) as StudySectionConfig | undefined;
    const failures = this.#entries("failures", "scenarios", recordName, failureSchema);
    return { platform, deployments, verification, benchmark, workloads, areWorkloadsValid, capacity, study, failures };
  }

  /** If the stack has workloads, no tests run by default. */
  benchmark(): BenchmarkConfig | undefined {
    const section = this.#raw["benchmark"] ?? {};
    const input = isMap(section) ? withBenchmarkOptions(section, this.overrides.benchmark) : section;
    const parsed = this.#section("benchmark", benchmarkSchema, input);
    return parsed && { ...parsed, tests: parsed.tests ?? (this.#hasWorkloads() ? [] : DEFAULT_TESTS) };
  }

  workloads(): readonly Named<WorkloadConfig>[] {
    const withDefault = (value: unknown): unknown =>
      isMap(value) ? { loadGenerator: DEFAULT_LOAD_GENERATOR, ...value } : value;
    return this.#entries("workloads", "workloads", recordName, workloadSchema, withDefault);
  }

  #deployments(): readonly Named<DeploymentConfig>[] {
    const input = this.#raw["deployments"];
    if (isMap(input) && Object.keys(input).length > 0) {
      return this.#entries("deployments", "deployments", deploymentName, deploymentSchema);
    }
    this.problems.push(
      problem("no-deployments", this.label(["deployments"]), "expected at least one deployment, by name"),
    );
    return [];
  }

  /** A workload on the command line replaces the workload that the section names. */
  #capacity(): CapacityConfig | undefined {
    const parsed = this.#optional("capacity", capacitySchema);
    return parsed === undefined || this.overrides.workload === undefined ? parsed : { ...parsed, workload: undefined };
  }

  #hasWorkloads(): boolean {
    const input = this.#raw["workloads"];
    return isMap(input) && Object.keys(input).length > 0;
  }

  #optional<T>(name: string, schema: z.ZodType<T>): T | undefined {
    const input = this.#raw[name];
    return input === undefined ? undefined : this.#section(name, schema, input);
  }

  #section<T>(name: string, schema: z.ZodType<T>, input: unknown, path: Path = [name]): T | undefined {
    const result = schema.safeParse(input);
    if (result.success) return result.data;
    this.problems.push(...describeIssues(schema, input, result.error.issues, (rest) => this.label([...path, ...rest])));
    return undefined;
  }

  #entries<T>(
    section: string,
    content: string,
    nameSchema: z.ZodString,
    schema: z.ZodType<T>,
    prepare = (value: unknown): unknown => value,
  ): readonly Named<T>[] {
    const input = this.#raw[section] ?? {};
    if (!isMap(input)) {
      this.problems.push(problem("wrong-value", this.label([section]), `expected ${content}, by name`));
      return [];
    }
    return Object.entries(input).flatMap(([name, value]): Named<T>[] => {
      const path = [section, name];
      const named = nameSchema.safeParse(name);
      if (!named.success)
        this.problems.push(problem("wrong-name", this.label(path), named.error.issues[0]?.message ?? "a bad name"));
      const parsed = this.#section(section, schema, prepare(value), path);
      return parsed === undefined ? [] : [[name, parsed]];
    });
  }

  #optionKey([section, key, inner]: readonly string[]): string | undefined {
    if (section === "benchmark" && key !== undefined && key in this.overrides.benchmark) return key;
    return section === "workloads" && this.overrides.workload !== undefined ? inner : undefined;
  }
}
