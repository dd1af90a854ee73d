/** A stack's plan in words, the same in a preview, in `plan` and in the outputs. Pure. */
import { formatRanges } from "../../valkey/topology/slots";
import { nodeCount } from "../../valkey/topology/placement";
import type { Prediction } from "../../lib/statistics/prediction";
import { LARGE_CLUSTER_NODES } from "../../valkey/topology/derived-settings";
import { formatBytes, formatCount, formatDuration, formatList } from "../../lib/units";
import { describeEksPlan } from "../../platforms/eks/describe";
import type { WorkloadConfig } from "../config/schema/workloads";
import type {
  DeploymentPlan,
  FailurePlan,
  LargeClusterPlan,
  MeasurementPlan,
  PodsPlan,
  StackPlan,
  StudyPlan,
} from "./stack-plan-types";
/** Shards that are told one by one. */
const MOST_SHARDS = 6;
/** As many, where there are more than that. */
const FEW_SHARDS = 3;

export function describePlan(plan: StackPlan): string[] {
  const { deployments, measurement, study, failures, eks, duration, notes } = plan;
  const own = notes.filter((note) => eks?.notes.includes(note) !== true);
  return [
    ...deployments.flatMap(describeDeployment),
    ...(study !== null
      ? [describeStudy(study)]
      : measurement === null
        ? ["nothing is measured: the stack has no valkey:benchmark"]
        : [describeMeasurement(measurement), ...describeCapacity(measurement)]),
    ...describeFailures(plan.stack, failures),
    ...(eks === null ? [] : describeEksPlan(eks)),
    `duration: about ${formatDuration(duration.seconds)} (${duration.parts.map(({ what, seconds }) => `${what} ${formatDuration(seconds)}`).join(", ")})`,
    ...own.map((note) => `note: ${note}`),
  ];
}

function describeDeployment(plan: DeploymentPlan): string[] {
  const { name, engine, mode, shape, zones, pods, shards, bus } = plan;
  const nodes = nodeCount(shape);
  const replicas = `${formatCount(shape.replicasPerPrimary)} ${shape.replicasPerPrimary === 1 ? "replica" : "replicas"}`;
  const what =
    mode === "cluster"
      ? `${formatCount(shape.primaries)} primaries with ${replicas} each`
      : `1 primary with ${replicas}`;
  const places = Object.entries(zones)
    .map(([zone, count]) => `${zone} ${formatCount(count)}`)
    .join(", ");
  const unit = pods === null ? (nodes === 1 ? "process" : "processes") : nodes === 1 ? "pod" : "pods";
  return [
    `${name}: ${engine === "valkey" ? "" : `${engine}, `}${mode} of ${what}, ${formatCount(nodes)} ${unit} over ${Object.keys(zones).length === 1 ? "zone" : `${Object.keys(zones).length} zones:`} ${places}`,
    ...(pods === null ? [] : [`  each ${describePods(pods)}`]),
    ...(plan.oversubscribed
      ? [
          `  oversubscribed on purpose: ${plan.settings["io-threads"] ?? "1"} io-threads${pods === null ? "" : ` on ${pods.limits.cpu} CPUs`}`,
        ]
      : []),
    ...shards
      .slice(0, shards.length > MOST_SHARDS ? FEW_SHARDS : MOST_SHARDS)
      .map(
        ({ primary, replicas: followers, slots }) =>
          `  ${primary}: slots ${formatRanges([slots])}${followers.length === 0 ? "" : `, replica ${followers.join(", ")}`}`,
      ),
    ...(shards.length > MOST_SHARDS ? [`  and ${formatCount(shards.length - FEW_SHARDS)} shards more`] : []),
    ...(bus === null || nodes < LARGE_CLUSTER_NODES
      ? []
      : [
          `  cluster bus at rest: at most ${formatBytes(bus.bytesPerNode)}/s sent by each node in ${formatCount(bus.messagesPerNode)} messages of ${formatBytes(bus.messageBytes)}, ${formatBytes(bus.bytes)}/s in all`,
        ]),
    ...(plan.sentinel === null
      ? []
      : [
          `  ${plan.sentinel.count} Sentinels over the zones, ${plan.sentinel.quorum} of which must miss the primary for ${plan.sentinel.downAfterMs / 1000} s for a replica to take over${pods === null ? "" : `; the Service ${name}-write follows the primary`}`,
        ]),
    ...(plan.largeCluster === null ? [] : describeLarge(plan.largeCluster)),
  ];
}

function describeLarge({ forecast, descriptors, measured: { cores, version, sizes } }: LargeClusterPlan): string[] {
  const range = ({ estimate, low, high }: Prediction, format: (value: number) => string): string =>
    `${format(estimate)} (${format(Math.max(0, low))} to ${format(high)})`;
  const inSeconds = (value: number): string => `${value >= 10 ? Math.round(value) : value.toFixed(1)} s`;
  return [
    `  foretold with 95 % from ${formatList(sizes.map(String), sizes.length)} nodes of Valkey ${version} on ${cores} cores: bus at rest ${range(forecast.busBytesPerNode, formatBytes)}/s per node, ${range(forecast.descriptors, formatCount)} open files and ${range(forecast.residentBytes, formatBytes)} of memory each before clients and data`,
    `  formed in ${range(forecast.formationSeconds, inSeconds)} and verified in ${range(forecast.verificationSeconds, inSeconds)} if ${cores} cores carried all nodes, sooner on machines of their own; writes out for ${range(forecast.outageSeconds, inSeconds)} after the loss of a primary at a node timeout of ${forecast.nodeTimeoutMs / 1000} s`,
    `  each server must be allowed ${formatCount(descriptors)} open files (ulimit -n): the bus's connections count as clients`,
  ];
}

function describePods({ requests, limits, volume, pool, instanceType, oneMachine, image }: PodsPlan): string {
  const amounts =
    JSON.stringify(requests) === JSON.stringify(limits)
      ? `${requests.cpu} CPU and ${requests.memory}`
      : `${requests.cpu} CPU and ${requests.memory} (at most ${limits.cpu} and ${limits.memory})`;
  const parts = [
    amounts,
    ...(volume === null
      ? []
      : [`a volume of ${volume.size}${volume.className === null ? "" : ` ${volume.className}`}`]),
    ...(pool === null ? [] : [`pool ${pool}${instanceType === null ? "" : ` (${instanceType})`}`]),
    ...(oneMachine ? ["all on one machine"] : []),
    image,
  ];
  return parts.join(", ");
}

function describeMeasurement({ workload, workloads, rounds, count, runners, jobs }: MeasurementPlan): string {
  const tests = [...workload.tests, ...Object.keys(workloads)].join(", ");
  const length =
    "seconds" in workload.length ? `${workload.length.seconds} s` : `${formatCount(workload.length.requests)} requests`;
  const mixes = Object.entries(workloads)
    .map(([name, workload]) => `; ${name}: ${describeMix(workload)}`)
    .join("");
  const by =
    jobs === null
      ? `${workload.tests.length === 0 ? "" : "by valkey-benchmark "}on this machine`
      : `by ${formatCount(jobs)} Jobs of ${formatCount(runners)} ${runners === 1 ? "runner" : "runners"} each`;
  const load =
    workload.tests.length === 0
      ? ""
      : `; ${formatCount(workload.clients)} clients on ${workload.threads} ${workload.threads === 1 ? "thread" : "threads"}${runners === 1 ? "" : " each"}, pipeline ${workload.pipeline}, values of ${workload.dataSize} B, ${formatCount(workload.keySpace)} keys`;
  return `${formatCount(count)} measurements of ${tests} in ${rounds} ${rounds === 1 ? "round" : "rounds"}, ${length} each, ${by}${load}${mixes}`;
}

function describeCapacity({ capacity, jobs }: MeasurementPlan): string[] {
  if (capacity === null) return [];
  const { objective, workload, initialRate, maxRate, precision, probes } = capacity;
  return [
    `then the highest load of ${workload} at which ${objective}: from ${formatCount(initialRate)}/s to ${formatCount(maxRate)}/s at most, to ${precision * 100} %, of each deployment in about ${formatCount(probes)} loads${jobs === null ? "" : ", a Job each"}`,
  ];
}

function describeStudy({ treatments, varied, precision, budget }: StudyPlan): string {
  const factors = Object.entries(varied)
    .map(([factor, levels]) => `${factor} ${levels.join(", ")}`)
    .join(" × ");
  return `study of ${treatments} cells (${factors}), until each comparison is as exact as ${precision * 100} %, ${formatDuration(budget)} at most`;
}

function describeFailures(stack: string, failures: readonly FailurePlan[]): string[] {
  if (failures.length === 0) return [];
  const possible = [
    ...new Set(failures.flatMap(({ scenario, skipReason }) => (skipReason === null ? [scenario] : []))),
  ];
  return [
    `broken on purpose by npm start -- break ${stack}: ${possible.length === 0 ? "nothing" : possible.join(", ")}`,
    ...failures.flatMap(({ scenario, deployment, skipReason }) =>
      skipReason === null ? [] : [`  not here: ${scenario} on ${deployment}: ${skipReason}`],
    ),
  ];
}

function describeMix(workload: WorkloadConfig): string {
  const { loadGenerator, data, reads, clients, pipeline, keySpace } = workload;
  const sent =
    workload.loadGenerator === "open-loop"
      ? `${formatCount(workload.rate)} requests/s offered`
      : `${workload.threads} ${workload.threads === 1 ? "thread" : "threads"}, values of ${workload.dataSize} B`;
  return `by ${loadGenerator}, ${Math.round(reads * 100)} % reads of ${data}, ${formatCount(clients)} clients, ${sent}, pipeline ${pipeline}, ${formatCount(keySpace)} keys`;
}
