import * as pulumi from "@pulumi/pulumi";
import { connectionUrl } from "../../valkey/connection-url";
import { formatEndpoint } from "../../valkey/node";
import { formatObjective } from "../../benchmarks/capacity/objective";
import type { TopologyRecord } from "../../valkey/verification/topology-record";
import { type BenchmarkJobArgs, BenchmarkJob } from "../../components/benchmark-job";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { type EndpointOutput, stackOutputs } from "./outputs";
import type { RestoreResult } from "../../backup/restoring/filling/fill-result";
import { describePlan } from "../plan/describe";
import { planStack } from "../plan/stack-plan";
import type { StackPlan } from "../plan/stack-plan-types";
import { isPodPlatform, runnerPlan } from "../plan/pod-settings";
import type { StackConfig } from "../config/schema/stack";
import type { Deployed } from "./platforms/deployed";
import { verdictLine } from "../../valkey/verification/format";

export async function program(stack: string, config: StackConfig): Promise<Record<string, unknown>> {
  const plan = planStack(stack, config);
  const words = describePlan(plan).join("\n");
  void pulumi.log.info(words);
  const { deployments: deployed, platform, backupBucket } = await deploy(stack, config);
  const verified = deployed.map(({ component }) => component);
  const benchmark = config.measures
    ? new BenchmarkJob("benchmark", benchmarkArgs(config, plan, platform, verified))
    : undefined;
  const endpoints = pulumi.all(verified.map(({ reference }) => reference.apply(endpointOf)));
  const topologies = pulumi.all(verified.map(({ topology }) => topology));
  const verifiedAt = pulumi.all(verified.map(({ verifiedAt }) => verifiedAt));
  return {
    // This output is not encrypted: references and topologies contain no secrets, and results contain only topologies
    // and measured values.
    valkey: pulumi
      .all([endpoints, topologies, restoredIn(deployed), benchmark?.results, benchmark?.comparison])
      .apply(([where, topologies, restored, results, comparison]) =>
        stackOutputs(plan, where, topologies, restored, results && comparison ? { results, comparison } : null),
      ),
    passwords: pulumi.secret(Object.fromEntries(deployed.map(({ name, component }) => [name, component.password]))),
    urls: pulumi.secret(Object.fromEntries(deployed.map(({ name, component }) => [name, urlOf(component)]))),
    ...externalUrls(deployed, config),
    ...userPasswords(deployed),
    ...(backupBucket === undefined ? {} : { backupBucket }),
    ...(benchmark === undefined ? {} : { report: benchmark.report }),
    plan: words,
    summary: pulumi.all([topologies, verifiedAt, benchmark?.summary ?? null]).apply(summaryOf),
  };
}

function restoredIn(deployed: Deployed["deployments"]): pulumi.Output<Record<string, RestoreResult>> {
  const found = deployed.flatMap(({ name, component: { restored } }) =>
    restored === undefined ? [] : [restored.apply((result) => [name, result] as const)],
  );
  return pulumi
    .all(found)
    .apply((entries) =>
      Object.fromEntries(entries.flatMap(([name, result]) => (result === undefined ? [] : [[name, result]]))),
    );
}

function externalUrls(deployed: Deployed["deployments"], { deployments }: StackConfig): Record<string, unknown> {
  const urls = deployed
    .filter(({ name }) => deployments[name]?.external !== undefined)
    .map(({ name, component }) => [name, component.externalUrl] as const);
  return urls.length === 0 ? {} : { externalUrls: pulumi.secret(Object.fromEntries(urls)) };
}

function userPasswords(deployed: Deployed["deployments"]): Record<string, unknown> {
  const all = deployed.flatMap(({ name, userPasswords: each }) => (each === undefined ? [] : [[name, each] as const]));
  return all.length === 0 ? {} : { userPasswords: pulumi.secret(Object.fromEntries(all)) };
}

function benchmarkArgs(
  config: StackConfig,
  { measurement, deployments }: StackPlan,
  platform: Deployed["platform"],
  targets: BenchmarkJobArgs["targets"],
): BenchmarkJobArgs {
  const { benchmark, workloads, capacity, verification } = config;
  const { workloadName, tests, clients, pipeline, dataSize, threads, adjustLoad, keySpace } = benchmark;
  const { duration, requests, warmup, repeats, rate, output, trigger } = benchmark;
  return {
    workloadName,
    tests: tests.length === 0 ? undefined : tests,
    clients,
    pipeline,
    dataSize,
    threads,
    adjustLoad,
    keySpace,
    duration,
    requests,
    warmup,
    repeats,
    rate,
    output,
    trigger,
    workloads,
    capacity: capacity && { ...capacity, objective: formatObjective(capacity.objective) },
    targets,
    loadGenerators:
      isPodPlatform(platform) && measurement !== null
        ? runnerPlan(
            platform,
            measurement.runners,
            deployments.some(({ engine }) => engine !== "valkey"),
          )
        : undefined,
    timeoutSeconds: verification.timeout,
    // The directory for results is left out, because it does not describe the measurement.
    configuration: { ...config, benchmark: { ...benchmark, output: undefined } },
  };
}

/** Verdicts with an earlier time are from earlier updates, kept in Pulumi's state. */
const STARTED_AT = new Date().toISOString();

function summaryOf([topologies, times, results]: readonly [
  readonly TopologyRecord[],
  readonly string[],
  string | null,
]): string {
  const verdicts = topologies.map((topology, index) => ({ topology, verifiedAt: times[index] ?? "" }));
  const measured = results === null ? [] : ["", results];
  const summary = [...datedVerdictLines(verdicts), ...measured].join("\n");
  if (!pulumi.runtime.isDryRun()) {
    void pulumi.log.info([summary, ...oldVerdictLines(verdicts, STARTED_AT)].join("\n"));
  }
  return summary;
}

function endpointOf(target: DeploymentReference): EndpointOutput {
  return { deployment: target.name, mode: target.mode, addresses: addressesOf(target) };
}

/** Clients that accept only one address use the first address. */
function addressesOf(target: DeploymentReference): string[] {
  return target.platform === "endpoints"
    ? target.nodes.map(({ endpoint }) => formatEndpoint(endpoint))
    : [target.service];
}

function urlOf({ reference, password }: Deployed["deployments"][number]["component"]): pulumi.Output<string> {
  return pulumi.all([reference, password]).apply(([target, secret]) => {
    const [endpoint = ""] = addressesOf(target);
    return connectionUrl({
      endpoint,
      password: secret,
      tls: target.platform === "kubernetes" && target.tls !== undefined,
    });
  });
}

/** Only the modules of this platform are loaded, because some take seconds to load. */
async function deploy(stack: string, config: StackConfig): Promise<Deployed> {
  const { platform } = config;
  switch (platform.type) {
    case "host": {
      const { deployOnHost } = await import("./platforms/host.js");
      return { deployments: deployOnHost(stack, platform, config), platform };
    }
    case "kubernetes": {
      const { deployOnKubernetes } = await import("./platforms/kubernetes.js");
      return { deployments: deployOnKubernetes(stack, platform, config), platform };
    }
    case "eks": {
      const { deployOnEks } = await import("./platforms/eks.js");
      return deployOnEks(stack, platform, config);
    }
  }
}

interface DatedVerdict {
  readonly topology: TopologyRecord;
  readonly verifiedAt: string;
}

/** Lines such as `VERIFY cluster: PASS — all 20 assertions hold; verified at 2026-07-20T10:00:00.000Z.` */
export function datedVerdictLines(verdicts: readonly DatedVerdict[]): string[] {
  return verdicts.map(({ topology: { deployment, verdict }, verifiedAt }) =>
    verdictLine({ deployment, ...verdict }, verifiedAt),
  );
}

/** A verdict stays in the state until an input of its verification changes. @param startedAt ISO 8601 */
export function oldVerdictLines(verdicts: readonly DatedVerdict[], startedAt: string): string[] {
  const old = verdicts.filter(({ verifiedAt }) => verifiedAt < startedAt).map(({ topology }) => topology.deployment);
  if (old.length === 0) return [];
  return [`Not verified by this update: ${old.join(", ")}. To verify again, change valkey:verification.trigger.`];
}
