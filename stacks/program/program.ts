/** The resources of a stack, for any platform. */
import * as pulumi from "@pulumi/pulumi";
import { formatEndpoint } from "../../valkey/node";
import type { Results, TopologyRecord } from "../../benchmarks/results/schema";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { MixedWorkload } from "../../benchmarks/workloads/mixed-workload";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type { MeasuredTarget } from "../../provider/handlers/load-generator";
import { Measurement } from "../../provider/resources/measurement";
import type { EndpointOutput } from "./outputs";
import { stackOutputs } from "./outputs";
import { datedVerdictLines, oldVerdictLines } from "./verdict-lines";
import { describePlan } from "../plan/describe";
import { planStack } from "../plan/stack-plan";
import { configuredCapacitySearch, configuredMixedWorkloads, fittedWorkload } from "../plan/benchmark-plans";
import { isPodPlatform, runnerPlan } from "../plan/pods";
import type { StackConfig } from "../config/schema/stack";
import type { Deployed } from "./deployed";

/** Declares the resources of a stack. @returns the stack outputs */
export async function program(stack: string, config: StackConfig): Promise<Record<string, unknown>> {
  const plan = planStack(stack, config);
  const words = describePlan(plan).join("\n");
  void pulumi.log.info(words);
  const { deployments: deployed, platform } = await deploy(stack, config);
  const verified = deployed.map(({ component }) => component);
  const mixes = withoutUndefined<readonly MixedWorkload[]>(configuredMixedWorkloads(config));
  const capacity = configuredCapacitySearch(config);
  const measurement = config.measures
    ? new Measurement(
        "measurement",
        {
          targets: pulumi.all(
            verified.map(({ reference, password, formationMs }) =>
              pulumi.all([reference, password, formationMs]).apply(asMeasured),
            ),
          ),
          workload: fittedWorkload(config),
          ...(mixes.length === 0 ? {} : { mixes }),
          repeats: config.benchmark.repeats,
          ...(capacity === undefined ? {} : { capacity: withoutUndefined(capacity) }),
          stack,
          output: config.benchmark.output,
          configuration: config,
          trigger: config.benchmark.trigger,
          clients:
            isPodPlatform(platform) && plan.measurement !== null
              ? runnerPlan(
                  platform,
                  plan.measurement.runners,
                  plan.deployments.some(({ engine }) => engine !== "valkey"),
                )
              : undefined,
          timeoutSeconds: config.verification.timeout,
        },
        { dependsOn: verified },
      )
    : undefined;
  const endpoints = pulumi.all(verified.map(({ reference }) => reference.apply(endpointOf)));
  const topologies = pulumi.all(verified.map(({ topology }) => topology));
  const verifiedAt = pulumi.all(verified.map(({ verifiedAt }) => verifiedAt));
  return {
    // Targets and topologies are public; results are made of them and of figures.
    valkey: pulumi
      .all([endpoints, topologies, measurement?.results ?? null])
      .apply(([where, topologies, results]) => stackOutputs(plan, where, topologies, results)),
    passwords: pulumi.secret(Object.fromEntries(deployed.map(({ name, component }) => [name, component.password]))),
    ...(measurement === undefined ? {} : { report: measurement.report }),
    plan: words,
    summary: pulumi.all([topologies, verifiedAt, measurement?.results ?? null]).apply(summaryOf),
  };
}

/** A copy without undefined keys, which a state cannot hold. */
function withoutUndefined<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** A verdict from before the program started comes from the state. */
const STARTED_AT = new Date().toISOString();

/** Verdicts and results as text. Printed before the outputs, with a line for verdicts of earlier updates. */
function summaryOf([topologies, times, results]: readonly [
  readonly TopologyRecord[],
  readonly string[],
  Results | null,
]): string {
  const verdicts = topologies.map((topology, index) => ({ topology, verifiedAt: times[index] ?? "" }));
  const measured = results === null ? [] : ["", ...formatSummary(results)];
  const summary = [...datedVerdictLines(verdicts), ...measured].join("\n");
  if (!pulumi.runtime.isDryRun()) {
    void pulumi.log.info([summary, ...oldVerdictLines(verdicts, STARTED_AT)].join("\n"));
  }
  return summary;
}

function endpointOf(target: DeploymentReference): EndpointOutput {
  const addresses =
    target.platform === "endpoints" ? target.nodes.map(({ endpoint }) => formatEndpoint(endpoint)) : [target.service];
  return { deployment: target.name, mode: target.mode, addresses };
}

function asMeasured([target, password, formationMs]: readonly [
  DeploymentReference,
  string,
  number | null,
]): MeasuredTarget {
  return { target, password, formationMs };
}

/** A platform's modules are loaded only by stacks that use it: some of them take seconds. */
async function deploy(stack: string, config: StackConfig): Promise<Deployed> {
  const { platform } = config;
  switch (platform.type) {
    case "host": {
      const { deployOnHost } = await import("./platforms/host.js");
      return { deployments: deployOnHost(stack, platform, config), platform };
    }
    case "kubernetes": {
      const { deployOnKubernetes } = await import("./platforms/kubernetes.js");
      return { deployments: await deployOnKubernetes(stack, platform, config), platform };
    }
    case "eks": {
      const { deployOnEks } = await import("./platforms/eks.js");
      return deployOnEks(stack, platform, config);
    }
  }
}
