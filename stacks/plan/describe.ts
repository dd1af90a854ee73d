import { compact } from "../../lib/compact";
import type { Prediction } from "../../lib/statistics/prediction";
import { counted, formatBytes, formatCount, formatDuration, formatList } from "../../lib/units";
import { describeEksPlan } from "../../platforms/eks/describe";
import { describeMemory } from "../../valkey/planning/memory-plan";
import { describeSentinels } from "../../valkey/sentinel/sentinel-settings";
import { describeSurvival } from "../../valkey/planning/survival";
import { LARGE_CLUSTER_NODES } from "../../valkey/planning/derived-settings";
import { nodeCount } from "../../valkey/topology/placement";
import { formatRanges } from "../../valkey/topology/slots";
import type { WorkloadConfig } from "../../benchmarks/workloads/mixed-workload-schema";
import type {
  DeploymentPlan,
  FailurePlan,
  LargeClusterPlan,
  MeasurementPlan,
  PodsPlan,
  StackPlan,
  StudyPlan,
} from "./stack-plan-types";
import { COMMAND } from "../../lib/system/package";

/** In a larger deployment, only the first shards are listed. */
const MAX_LISTED_SHARDS = 6;
const FEW_SHARDS = 3;

/** Lines of text, one per fact. A line is indented if it belongs to the line before it. */
export function describePlan(plan: StackPlan): string[] {
  const { deployments, failures, eks, duration, notes } = plan;
  const own = notes.filter((note) => eks?.notes.includes(note) !== true);
  const parts = duration.parts.map(({ what, seconds }) => `${what} ${formatDuration(seconds)}`).join(", ");
  return [
    ...deployments.flatMap(describeDeployment),
    ...describeWork(plan),
    ...describeFailures(plan.stack, failures),
    ...(eks === null ? [] : describeEksPlan(eks)),
    `duration: about ${formatDuration(duration.seconds)} (${parts})`,
    ...own.map((note) => `note: ${note}`),
  ];
}

function describeWork({ study, measurement }: StackPlan): string[] {
  if (study !== null) return [describeStudy(study)];
  if (measurement === null) return ["nothing is measured: the stack has no valkey:benchmark"];
  return [describeMeasurement(measurement), ...describeCapacity(measurement)];
}

function describeDeployment(plan: DeploymentPlan): string[] {
  const { pods, bus, largeCluster } = plan;
  return compact([
    headOf(plan),
    pods === null ? undefined : `  each ${describePods(pods)}`,
    plan.restoredFrom === null
      ? undefined
      : `  a new deployment is restored from ${plan.restoredFrom}, and every key is compared`,
    ...describeLimit(plan),
    plan.oversubscribed ? describeOversubscription(plan) : undefined,
    ...plan.survives.map((each) => `  ${describeSurvival(each)}`),
    ...describeShards(plan),
    bus === null || nodeCount(plan.shape) < LARGE_CLUSTER_NODES ? undefined : describeBus(bus),
    ...sentinelLine(plan),
    ...(largeCluster === null ? [] : describeLarge(largeCluster)),
  ]);
}

function headOf({ name, engine, mode, chart, shape, zones, pods }: DeploymentPlan): string {
  const { primaries, replicasPerPrimary } = shape;
  const replicas = counted(replicasPerPrimary, "replica");
  const roles =
    mode === "cluster" ? `${formatCount(primaries)} primaries with ${replicas} each` : `1 primary with ${replicas}`;
  const nodes = pods === null ? counted(nodeCount(shape), "process", "processes") : counted(nodeCount(shape), "pod");
  const names = Object.keys(zones);
  const places = Object.entries(zones).map(([zone, count]) => `${zone} ${formatCount(count)}`);
  const over = names.length === 1 ? "zone" : `${names.length} zones:`;
  const kind = engine === "valkey" ? mode : `${engine}, ${mode}`;
  const by = chart === null ? "" : ` by the upstream chart ${chart}`;
  return `${name}: ${kind}${by} of ${roles}, ${nodes} in ${over} ${places.join(", ")}`;
}

function describeLimit({ settings, memory }: DeploymentPlan): string[] {
  if (memory === null) return [];
  const wanted = Number(settings["maxmemory"] ?? 0);
  const own = wanted === memory.maxmemory ? "" : `${formatBytes(wanted)}; highest possible: `;
  return [`  maxmemory: ${own}${describeMemory(memory)}`];
}

function describeOversubscription({ settings, pods, memory }: DeploymentPlan): string {
  const cpus = pods === null ? "" : ` on ${pods.limits.cpu} CPUs`;
  const isTight = memory !== null && Number(settings["maxmemory"] ?? 0) > memory.maxmemory;
  const data = isTight ? ", and maxmemory is too large for the memory limit" : "";
  return `  oversubscribed on purpose: ${settings["io-threads"] ?? "1"} io-threads${cpus}${data}`;
}

function describeShards({ shards }: DeploymentPlan): string[] {
  const isLong = shards.length > MAX_LISTED_SHARDS;
  const listed = shards.slice(0, isLong ? FEW_SHARDS : MAX_LISTED_SHARDS).map(({ primary, replicas, slots }) => {
    const followers = replicas.length === 0 ? "" : `, replica ${replicas.join(", ")}`;
    return `  ${primary}: slots ${formatRanges([slots])}${followers}`;
  });
  return isLong ? [...listed, `  and ${formatCount(shards.length - FEW_SHARDS)} more shards`] : listed;
}

function describeBus(bus: NonNullable<DeploymentPlan["bus"]>): string {
  const messages = `${formatCount(bus.messagesPerNode)} messages a second of ${formatBytes(bus.messageBytes)}`;
  const perNode = `each node sends at most ${formatBytes(bus.bytesPerNode)}/s (${messages})`;
  return `  cluster bus without failures: ${perNode}, and all nodes together send ${formatBytes(bus.bytes)}/s`;
}

function sentinelLine({ name, sentinel, pods }: DeploymentPlan): string[] {
  if (sentinel === null) return [];
  const service = pods === null ? "" : `; the Service ${name} routes to the primary through proxies`;
  return [`  ${describeSentinels(sentinel)}${service}`];
}

function describeLarge({ forecast, descriptors, measured }: LargeClusterPlan): string[] {
  const { cores, version, sizes } = measured;
  const range = ({ estimate, low, high }: Prediction, format: (value: number) => string): string =>
    `${format(estimate)} (${format(Math.max(0, low))} to ${format(high)})`;
  const inSeconds = (value: number): string => `${value >= 10 ? Math.round(value) : value.toFixed(1)} s`;
  const source = `clusters of ${formatList(sizes.map(String), sizes.length)} nodes of Valkey ${version} on ${cores} cores`;
  const bus = `bus traffic without failures ${range(forecast.busBytesPerNode, formatBytes)}/s per node`;
  const files = `${range(forecast.descriptors, formatCount)} open files`;
  const memory = `${range(forecast.residentBytes, formatBytes)} of memory per node, without clients and data`;
  const formation = `formation in ${range(forecast.formationSeconds, inSeconds)}`;
  const verification = `verification in ${range(forecast.verificationSeconds, inSeconds)}`;
  const outage = `outage of ${range(forecast.outageSeconds, inSeconds)} after the loss of a primary`;
  const timeout = `at a node timeout of ${forecast.nodeTimeoutMs / 1000} s`;
  return [
    `  predicted with 95 % confidence from ${source}: ${bus}, ${files} and ${memory}`,
    `  ${formation} and ${verification} with all nodes on ${cores} cores, faster on several machines; ${outage} ${timeout}`,
    `  each server needs ${formatCount(descriptors)} open files (ulimit -n), because connections of the bus count as clients`,
  ];
}

function describePods({ requests, limits, volume, pool, instanceType, oneMachine, image }: PodsPlan): string {
  const reserved = `${requests.cpu} CPU and ${requests.memory}`;
  const isFixed = JSON.stringify(requests) === JSON.stringify(limits);
  const className = volume?.className === null ? "" : ` ${volume?.className ?? ""}`;
  const type = instanceType === null ? "" : ` (${instanceType})`;
  return compact([
    isFixed ? reserved : `${reserved} (at most ${limits.cpu} and ${limits.memory})`,
    volume === null ? "no volume" : `a volume of ${volume.size}${className}`,
    pool === null ? undefined : `pool ${pool}${type}`,
    oneMachine ? "all on one machine" : undefined,
    image,
  ]).join(", ");
}

function describeMeasurement({ workload, workloads, rounds, count, runners, jobs }: MeasurementPlan): string {
  const tests = [...workload.tests, ...Object.keys(workloads)].join(", ");
  const length =
    "seconds" in workload.length ? `${workload.length.seconds} s` : `${formatCount(workload.length.requests)} requests`;
  const mixed = Object.entries(workloads).map(([name, each]) => `; ${name}: ${describeMixed(each)}`);
  const tool = workload.tests.length === 0 ? "" : "by valkey-benchmark ";
  const by =
    jobs === null ? `${tool}on this machine` : `by ${formatCount(jobs)} Jobs of ${counted(runners, "runner")} each`;
  const load = workload.tests.length === 0 ? "" : `; ${describeLoad(workload, runners)}`;
  const times = `${formatCount(count)} measurements of ${tests} in ${counted(rounds, "round")}`;
  return `${times}, ${length} each, ${by}${load}${mixed.join("")}`;
}

function describeLoad(workload: MeasurementPlan["workload"], runners: number): string {
  const { clients, threads, pipeline, dataSize, keySpace } = workload;
  const each = runners === 1 ? "" : " each";
  const connections = `${formatCount(clients)} clients on ${counted(threads, "thread")}${each}`;
  return `${connections}, pipeline ${pipeline}, values of ${dataSize} B, ${formatCount(keySpace)} keys`;
}

function describeMixed(workload: WorkloadConfig): string {
  const { loadGenerator, data, reads, clients, pipeline, keySpace } = workload;
  const sent =
    workload.loadGenerator === "open-loop"
      ? `${formatCount(workload.rate)} requests/s offered`
      : `${counted(workload.threads, "thread")}, values of ${workload.dataSize} B`;
  const mix = `${Math.round(reads * 100)} % reads of ${data}`;
  const keys = `${formatCount(keySpace)} keys`;
  return `by ${loadGenerator}, ${mix}, ${formatCount(clients)} clients, ${sent}, pipeline ${pipeline}, ${keys}`;
}

function describeCapacity({ capacity, jobs }: MeasurementPlan): string[] {
  if (capacity === null) return [];
  const { objective, workload, initialRate, maxRate, precision, probes } = capacity;
  const rates = `from ${formatCount(initialRate)}/s to at most ${formatCount(maxRate)}/s, with a precision of ${precision * 100} %`;
  const loads = `with about ${formatCount(probes)} loads for each deployment${jobs === null ? "" : ", each in a Job"}`;
  return [`then a search for the highest load of ${workload} at which ${objective} holds: ${rates}, ${loads}`];
}

function describeStudy({ treatments, varied, precision, budget }: StudyPlan): string {
  const factors = Object.entries(varied).map(([factor, levels]) => `${factor} ${levels.join(", ")}`);
  const goal = `until each comparison has a precision of ${precision * 100} %, for at most ${formatDuration(budget)}`;
  return `study of ${treatments} treatments (${factors.join(" × ")}), ${goal}`;
}

function describeFailures(stack: string, failures: readonly FailurePlan[]): string[] {
  if (failures.length === 0) return [];
  const possible = failures.filter(({ skipReason }) => skipReason === null).map(({ scenario }) => scenario);
  const skipped = failures.flatMap(({ scenario, deployment, skipReason }) =>
    skipReason === null ? [] : [`  skipped: ${scenario} on ${deployment}: ${skipReason}`],
  );
  const names = possible.length === 0 ? "none" : [...new Set(possible)].join(", ");
  return [`fault scenarios (${COMMAND} break ${stack}): ${names}`, ...skipped];
}
