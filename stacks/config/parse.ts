/**
 * Turns a stack's raw configuration into a StackConfig: parses, validates and derives values. All problems are reported
 * at once. Pure.
 */
import type { Problem } from "../../lib/errors";
import { BadInput } from "../../lib/errors";
import { studyTreatments } from "../plan/benchmark-plans";
import { withDerivedSentinels, withDerivedSettings } from "./derive";
import type { OptionOverrides } from "./sections/option-overrides";
import { NO_OVERRIDES } from "./sections/option-overrides";
import type { BenchmarkConfig } from "./schema/benchmark";
import type { StackConfig } from "./schema/stack";
import type { Sections } from "./sections/section-parser";
import { SectionParser } from "./sections/section-parser";
import type { MachineFacts } from "./validation/types";
import { crossFieldProblems } from "./validation/cross-field";
import { studyProblems } from "./validation/study";

/**
 * The configuration of a stack.
 * @param source name of the configuration in errors, such as `stack local`
 * @param raw sections by name, from `readStackFile` or pulumi.Config
 * @param machine cores and memory of this machine, on which the platform `host` runs
 * @throws BadInput that lists all problems: values that the schema does not allow, and allowed values that do not fit
 * together
 */
export function parseConfig(
  source: string,
  raw: Readonly<Record<string, unknown>>,
  machine: MachineFacts,
  overrides: OptionOverrides = NO_OVERRIDES,
): StackConfig {
  const parser = new SectionParser(raw, overrides);
  const sections = withSentinels(parser.parseAll());
  const measures = ["benchmark", "workloads", "capacity"].some((name) => name in raw);
  const isLoadUsed = measures || overrides !== NO_OVERRIDES;
  const problems = [...parser.problems, ...validate(sections, isLoadUsed, machine, parser, overrides)];
  const { platform, verification, benchmark, workloads, failures, capacity, study } = sections;
  if (problems.length > 0 || platform === undefined || verification === undefined || benchmark === undefined) {
    throw new BadInput(source, problems);
  }
  const deployments = sections.deployments.map(([name, each]) => [name, withDerivedSettings(each, platform)] as const);
  return {
    platform,
    verification,
    deployments: Object.fromEntries(deployments),
    benchmark,
    workloads: Object.fromEntries(workloads),
    failures: Object.fromEntries(failures),
    measures,
    capacity,
    study,
  };
}

/**
 * The sections with derived Sentinels. Some values fit together only if a deployment has Sentinels, so the Sentinels
 * must be known before the validation.
 */
function withSentinels(sections: Sections): Sections {
  const { platform, deployments } = sections;
  if (platform === undefined) return sections;
  const chosen = deployments.map(([name, each]) => [name, withDerivedSentinels(name, each, platform)] as const);
  return { ...sections, deployments: chosen };
}

/**
 * The section `benchmark` for servers without a stack file: the defaults, replaced by values of command-line options.
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

function validate(
  sections: Sections,
  isLoadUsed: boolean,
  machine: MachineFacts,
  parser: SectionParser,
  overrides: OptionOverrides,
): Problem[] {
  const { benchmark, study, capacity, areWorkloadsValid } = sections;
  // The search may name a workload that has a problem, so this name is checked only if all workloads are valid.
  const isCapacityKnown = overrides.workload === undefined && areWorkloadsValid;
  const known = {
    ...sections,
    benchmark: isLoadUsed ? benchmark : undefined,
    capacity: isCapacityKnown ? capacity : undefined,
  };
  const problems = crossFieldProblems(known, machine, parser.label);
  if (study === undefined || benchmark === undefined) return problems;
  const deployments = Object.fromEntries(sections.deployments);
  return [...problems, ...studyProblems(study, studyTreatments({ deployments, benchmark, study }), parser.label)];
}
