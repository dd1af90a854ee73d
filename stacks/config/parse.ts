import { type Problem, BadInput, problem } from "../../lib/errors";
import { studyTreatments, configuredShape } from "../plan/benchmark-plans";
import { type OptionOverrides, NO_OVERRIDES } from "./sections/option-overrides";
import type { BenchmarkConfig } from "./schema/benchmark";
import type { StackConfig } from "./schema/stack";
import { type Sections, SectionParser } from "./sections/section-parser";
import type { MachineFacts } from "./validation/types";
import { crossFieldProblems } from "./validation/cross-field";
import { requestedSentinels } from "../../valkey/sentinel/sentinel-settings";
import { nodeCount } from "../../valkey/topology/placement";
import { supportsPingInterval, derivedSettings } from "../../valkey/planning/derived-settings";
import { withinMemory } from "../../valkey/planning/memory-plan";
import { deploymentZones, isPodPlatform, podSettings, memoryDemand } from "../plan/pod-settings";
import { type DeploymentConfig, DEFAULT_SENTINELS } from "./schema/deployments";
import type { PlatformConfig } from "./schema/platform";
import type { Treatment } from "../../benchmarks/studies/factors";
import { unevenSettings } from "../../benchmarks/workloads/workload";
import type { Label } from "../../lib/schema/problems";
import type { StudySectionConfig } from "./schema/study";

const TESTS_OF_STUDY = "a study measures only the tests of valkey:benchmark; remove valkey:workloads or valkey:study";

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

/** Some values fit only with Sentinels, so these must be known before the validation. */
function withSentinels(sections: Sections): Sections {
  const { platform, deployments } = sections;
  if (platform === undefined) return sections;
  const chosen = deployments.map(([name, each]) => [name, withDerivedSentinels(name, each, platform)] as const);
  return { ...sections, deployments: chosen };
}

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
  const treatments = studyTreatments({ deployments, benchmark, study });
  const measuresOthers = overrides.workload === undefined && sections.workloads.length > 0;
  return [
    ...problems,
    ...studyProblems(study, treatments, parser.label),
    ...(measuresOthers ? [problem("study-with-workloads", parser.label(["workloads"]), TESTS_OF_STUDY)] : []),
  ];
}

/** By default, engine, replicas and zones decide. `false`: no Sentinels. */
function withDerivedSentinels(name: string, deployment: DeploymentConfig, platform: PlatformConfig): DeploymentConfig {
  if (deployment.mode !== "replication" || typeof deployment.sentinel === "object") return deployment;
  const { replicas, engine, sentinel, chart } = deployment;
  const zones = new Set(deploymentZones(platform, deployment)).size;
  const isLeft = sentinel === undefined && engine === "valkey" && chart === undefined;
  const request = requestedSentinels(isLeft ? undefined : (sentinel ?? false), { name, replicas, zones });
  return { ...deployment, sentinel: request === undefined ? false : DEFAULT_SENTINELS };
}

/** On the platform `host`, servers get only settings that their version knows. */
function withDerivedSettings(deployment: DeploymentConfig, platform: PlatformConfig): DeploymentConfig {
  const sized = withDerivedMemory(deployment, platform);
  if (sized.mode !== "cluster") return sized;
  const pings =
    !isPodPlatform(platform) ||
    (deployment.engine !== "dragonfly" && supportsPingInterval(imageVersion(podSettings(platform, deployment).image)));
  return {
    ...sized,
    settings: derivedSettings(sized.settings, nodeCount(configuredShape(deployment)), pings),
  };
}

function withDerivedMemory(deployment: DeploymentConfig, platform: PlatformConfig): DeploymentConfig {
  const demand = memoryDemand(platform, deployment);
  return demand === undefined ? deployment : { ...deployment, settings: withinMemory(demand) };
}

function imageVersion(image: string): string {
  return /:(\d+\.\d+[^/]*)$/.exec(image.split("@")[0] ?? "")?.[1] ?? "";
}

/** If several treatments have the same problem, only the first of them is named. */
function studyProblems({ growth }: StudySectionConfig, treatments: readonly Treatment[], label: Label): Problem[] {
  const path = label(["study"]);
  const problems: Problem[] = [];
  if (treatments.length < 2 && growth === undefined) {
    problems.push(
      problem(
        "one-treatment",
        path,
        "the study has only one treatment, so there is nothing to compare it with; vary a factor, or add a deployment",
      ),
    );
  }
  problems.push(...unevenTreatments(treatments, label).slice(0, 1));
  const several = treatments.find(({ shape, mode }) => mode === "cluster" || nodeCount(shape) > 1);
  if (growth !== undefined && several !== undefined) {
    const remedy = "growth is measured on a primary without replicas";
    const message = `${several.label} has more than one node; ${remedy}`;
    problems.push(problem("growth-of-several-nodes", label(["study", "growth"]), message));
  }
  const slow = treatments.find(({ workload, runners }) => workload.rate !== undefined && workload.rate < runners);
  if (slow !== undefined) {
    const rate = `${slow.workload.rate ?? 0} requests per second`;
    const message = `${slow.runners} load generators cannot share ${rate}`;
    problems.push(problem("rate-too-low", label(["study", "vary", "rate"]), message));
  }
  if (new Set(treatments.map(({ id }) => id)).size < treatments.length) {
    problems.push(
      problem(
        "same-treatment",
        path,
        "two treatments have the same name, because a deployment has the name of a value in study.vary; rename the deployment",
      ),
    );
  }
  return problems;
}

function unevenTreatments(treatments: readonly Treatment[], label: Label): Problem[] {
  return treatments.flatMap(({ label: name, mode, shape, workload }) => {
    if (mode !== "cluster") return [];
    return unevenSettings(workload.clients, workload.threads, shape.primaries).map(({ setting, why, nearest }) => {
      const message = `, in ${name}: ${why}; nearest values: ${nearest.join(" or ")}`;
      return problem("uneven-load", label(["benchmark", setting]), message);
    });
  });
}
