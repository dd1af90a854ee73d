/** What a stack would create, do, take and cost, as plain data: for previews, for `plan` and its `--json`. Asks nobody anything but this machine, whether its user may cut networks. */
import { formatObjective } from "../../benchmarks/capacity/objective";
import type { Engine } from "../../benchmarks/engines";
import type { FaultKind } from "../../benchmarks/failure/fault";
import type { Forecast } from "../../benchmarks/large-clusters/forecast";
import { forecast } from "../../benchmarks/large-clusters/forecast";
import { parseQuantity } from "../../benchmarks/kubernetes/quantity";
import { measuredClusters } from "../../benchmarks/large-clusters/points";
import type { SentinelSettings } from "../../benchmarks/sentinel/plan";
import { directives } from "../../benchmarks/settings";
import type { BusTraffic } from "../../benchmarks/topology/bus-traffic";
import { busTraffic } from "../../benchmarks/topology/bus-traffic";
import type { ShardPlan } from "../../benchmarks/topology/cluster-plan";
import { planCluster } from "../../benchmarks/topology/cluster-plan";
import { descriptorsFor, LARGE, nodeTimeoutFor, pingedAsAt } from "../../benchmarks/topology/sized-settings";
import type { PlacedNode, Shape } from "../../benchmarks/topology/placement";
import { nodeCount, rotateOverZones, spreadOverZones } from "../../benchmarks/topology/placement";
import type { Workload } from "../../benchmarks/workloads/workload";
import { crossZoneUsdPerHour } from "../../components/eks/plan/cost";
import type { EksPlan } from "../../components/eks/plan/plan";
import { pricesOf } from "../../components/eks/plan/prices";
import { isGuaranteed } from "../../components/kubernetes/beside-server";
import { plannedFailures } from "../failure-plans";
import { capacityOf, cellsOf, fittedWorkload, sentinelsOf, shapeOf } from "../plans";
import { deploymentZones, isPodPlatform, podSettings, runnerCount, zonesOf } from "../pods";
import type { DeploymentConfig, PlatformConfig, StackConfig } from "../schema";
import type { WorkloadConfig } from "../schema-workloads";
import type { Duration } from "./duration";
import { planDuration } from "./duration";
import { eksPlan } from "./eks";

/** Raised when a reader of an older plan could misread a newer one. */
export const PLAN_VERSION = 1;

export interface StackPlan {
  readonly version: typeof PLAN_VERSION;
  readonly stack: string;
  readonly platform: PlatformConfig["type"];
  /** Names, in the order in which they are filled. */
  readonly zones: readonly string[];
  readonly deployments: readonly DeploymentPlan[];
  /** Null where nothing is measured. */
  readonly measurement: MeasurementPlan | null;
  /** What npm start -- study would vary; null where the stack has no experiment. */
  readonly study: StudyPlan | null;
  /** What npm start -- break would do, and what cannot be done here. */
  readonly failures: readonly FailurePlan[];
  /** Machines, network, quotas and cost; null where the machines are there already. */
  readonly eks: Omit<EksPlan, "problems"> | null;
  readonly duration: Duration;
  /** What holds and should be known. */
  readonly notes: readonly string[];
}

export interface DeploymentPlan {
  readonly name: string;
  readonly engine: Engine;
  readonly mode: DeploymentConfig["mode"];
  readonly shape: Shape;
  /** Nodes in each zone. */
  readonly zones: Readonly<Record<string, number>>;
  /** Who is whose replica, and of which slots; a scheduler may name its nodes otherwise. */
  readonly shards: readonly ShardPlan[];
  readonly settings: Readonly<Record<string, string>>;
  readonly oversubscribed: boolean;
  /** Null on the host. */
  readonly pods: PodsPlan | null;
  /** The cluster bus at rest, at most; null without one. */
  readonly bus: (BusTraffic & { /** Between zones, at AWS's price; null where none is known. */ readonly usdPerHour: number | null }) | null;
  /** Who has a replica take over in replication mode; null where nobody does. */
  readonly sentinel: SentinelSettings | null;
  /** Null where it is not large. */
  readonly large: LargePlan | null;
}

export interface LargePlan {
  /** From clusters that were measured. */
  readonly forecast: Forecast;
  /** Open files that each server must be allowed. */
  readonly descriptors: number;
  /** What the measured clusters' nodes shared. */
  readonly measured: { readonly cores: number; readonly version: string; readonly sizes: readonly number[] };
}

export interface PodsPlan {
  readonly count: number;
  readonly image: string;
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits: { readonly cpu: string; readonly memory: string };
  /** Each one's own; null without. */
  readonly volume: { readonly size: string; readonly className: string | null } | null;
  readonly pool: string | null;
  readonly instanceType: string | null;
  readonly oneMachine: boolean;
}

export interface MeasurementPlan {
  readonly workload: Workload;
  /** Mixed workloads by name, measured after the tests. */
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
  readonly rounds: number;
  /** Searched for after the measurements; null where it is not. */
  readonly capacity: CapacityPlan | null;
  /** (Tests + workloads) × deployments × rounds. */
  readonly count: number;
  /** Load generators side by side; each has the workload's clients. */
  readonly runners: number;
  /** Jobs that Kubernetes runs before any search, one for each measurement and canary, and one that asks what the tool can do; null on the host. */
  readonly jobs: number | null;
}

export interface CapacityPlan {
  /** A percentile, and the most it may be: `p99 ≤ 2 ms`. */
  readonly objective: string;
  readonly workload: string;
  readonly start: number;
  readonly most: number;
  readonly precision: number;
  /** Loads offered of each deployment, seconds each: doubled up to the most, halved down to the precision, confirmed, and offered over more connections; answers that are not clear take more. */
  readonly probes: number;
  readonly seconds: number;
}

export interface FailurePlan {
  readonly scenario: string;
  readonly deployment: string;
  readonly fault: FaultKind;
  /** Null where it can be done. */
  readonly impossible: string | null;
}

export interface StudyPlan {
  /** Combinations of what is varied. */
  readonly cells: number;
  readonly varied: Readonly<Record<string, readonly (string | number)[]>>;
  /** Part of a figure; it ends when all is as exact, or by the budget, seconds. */
  readonly precision: number;
  readonly budget: number;
}

export function planStack(stack: string, config: StackConfig): StackPlan {
  const { platform, measures, benchmark } = config;
  const eks = platform.type === "eks" ? eksPlan(platform, { deployments: config.deployments, benchmark: measures ? benchmark : undefined }) : undefined;
  const deployments = Object.entries(config.deployments).map(([name, deployment]) => planDeployment(name, deployment, platform));
  const measurement = measures ? planMeasurement(config) : null;
  const study = planStudy(config);
  return {
    version: PLAN_VERSION,
    stack,
    platform: platform.type,
    zones: zonesOf(platform),
    deployments,
    measurement,
    study,
    failures: plannedFailures(config).map(({ planned: { scenario }, deployment, why }) => ({ scenario: scenario.name, deployment, fault: scenario.fault.kind, impossible: why ?? null })),
    eks: eks === undefined ? null : withoutProblems(eks),
    duration: planDuration(platform.type, deployments, measurement, study),
    notes: [...(eks?.notes ?? []), ...notesOf(config, deployments, measurement)],
  };
}

/** A configuration with problems comes to no plan. */
function withoutProblems({ region, zones, machines, network, volumes, quotas, cost, notes }: EksPlan): Omit<EksPlan, "problems"> {
  return { region, zones, machines, network, volumes, quotas, cost, notes };
}

function planDeployment(name: string, deployment: DeploymentConfig, platform: PlatformConfig): DeploymentPlan {
  const shape = shapeOf(deployment);
  const zones = deploymentZones(platform, deployment);
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${name}-${index}`);
  // Pods are spread evenly, and roles given afterwards; processes are placed by their roles.
  const placed = deployment.mode === "cluster" && !isPodPlatform(platform) ? rotateOverZones(names, shape, zones) : spreadOverZones(names, zones);
  return {
    name,
    engine: deployment.engine,
    mode: deployment.mode,
    shape,
    zones: Object.fromEntries(zones.map((zone) => [zone, placed.filter((node) => node.zone === zone).length])),
    shards: deployment.mode === "cluster" ? planCluster(placed, shape).shards : [],
    settings: Object.fromEntries(directives(deployment.settings)),
    oversubscribed: deployment.oversubscribed,
    pods: isPodPlatform(platform) ? planPods(podSettings(platform, deployment), placed.length) : null,
    bus: deployment.mode === "cluster" ? planBus(deployment, placed, platform) : null,
    sentinel: sentinelsOf(deployment) ?? null,
    large: deployment.mode === "cluster" && placed.length >= LARGE ? planLarge(deployment, placed.length, platform) : null,
  };
}

function planLarge({ settings }: DeploymentConfig, nodes: number, platform: PlatformConfig): LargePlan | null {
  const measured = measuredClusters();
  if (measured === undefined) return null;
  const { points, cores, version } = measured;
  const nodeTimeoutMs = settings["cluster-node-timeout"] ?? nodeTimeoutFor(nodes);
  const found = forecast(points, nodes, { nodeTimeoutMs, pingedMs: pingedAsAt(nodeTimeoutMs, settings), named: isPodPlatform(platform) });
  if (found === undefined) return null;
  return { forecast: found, descriptors: descriptorsFor(nodes), measured: { cores, version, sizes: [...new Set(points.map((point) => point.nodes))].sort((a, b) => a - b) } };
}

function planPods({ image, resources, storage, placement, pool, instanceType }: ReturnType<typeof podSettings>, count: number): PodsPlan {
  return {
    count,
    image,
    requests: resources.requests,
    limits: resources.limits,
    volume: storage.ephemeral ? null : { size: storage.size, className: storage.className ?? null },
    pool: pool ?? null,
    instanceType: instanceType ?? null,
    oneMachine: placement.oneMachine ?? false,
  };
}

function planBus({ settings }: DeploymentConfig, placed: readonly PlacedNode[], platform: PlatformConfig): DeploymentPlan["bus"] {
  const traffic = busTraffic(placed.length, pingedAsAt(settings["cluster-node-timeout"] ?? nodeTimeoutFor(placed.length), settings), isPodPlatform(platform));
  const perZone = new Map<string, number>();
  for (const { zone } of placed) perZone.set(zone, (perZone.get(zone) ?? 0) + 1);
  const within = [...perZone.values()].reduce((sum, count) => sum + (count / placed.length) ** 2, 0);
  const usd = platform.type === "eks" ? crossZoneUsdPerHour(traffic.bytes * (1 - within), pricesOf(platform.region)) : undefined;
  return { ...traffic, usdPerHour: usd ?? null };
}

function planMeasurement(config: StackConfig): MeasurementPlan {
  const { platform, deployments, benchmark, workloads } = config;
  const workload = fittedWorkload(config);
  const count = (workload.tests.length + Object.keys(workloads).length) * Object.keys(deployments).length * benchmark.repeats;
  const isPods = isPodPlatform(platform);
  return { workload, workloads, rounds: benchmark.repeats, capacity: planCapacity(config), count, runners: isPods ? runnerCount(platform, Object.values(deployments).map(shapeOf)) : 1, jobs: isPods ? count + benchmark.repeats + 2 : null };
}

function planCapacity(config: StackConfig): CapacityPlan | null {
  const search = capacityOf(config);
  if (search === undefined) return null;
  const { mix, objective, search: { start, most, precision, confirmations } } = search;
  const doublings = Math.max(0, Math.ceil(Math.log2(most / start))) + 1;
  const halvings = Math.max(0, Math.ceil(Math.log2(Math.log(2) / Math.log(1 + precision))));
  // Half of the halvings fail, and what fails is offered again; the answer and the load above it are settled by the fewest that are most.
  const offered = doublings + 1 + Math.ceil(1.5 * halvings) + 2 * (Math.floor(confirmations / 2) + 1);
  return { objective: formatObjective(objective), workload: mix.name, start, most, precision, probes: offered + 2 * confirmations, seconds: mix.warmup + mix.length.seconds };
}

function planStudy({ experiment, deployments, benchmark }: StackConfig): StudyPlan | null {
  if (experiment === undefined) return null;
  const levels: [string, readonly (string | number)[] | undefined][] = Object.entries(experiment.vary);
  const varied = Object.fromEntries(levels.flatMap(([factor, each]) => (each === undefined ? [] : [[factor, each]])));
  return { cells: cellsOf({ deployments, benchmark, experiment }).length, varied, precision: experiment.precision, budget: experiment.budget };
}

function notesOf(config: StackConfig, deployments: readonly DeploymentPlan[], measurement: MeasurementPlan | null): string[] {
  const { benchmark } = config;
  const fitted = measurement !== null && (measurement.workload.clients !== benchmark.clients || measurement.workload.threads !== benchmark.threads);
  return [
    ...(config.platform.type === "eks" && config.platform.cluster.publicAccessCidrs.length === 0 ? ["the API server is reached from inside the network only: run Pulumi there, or name the block it runs in (valkey:platform.cluster.publicAccessCidrs)"] : []),
    ...Object.entries(config.deployments).flatMap(([name, deployment]) => (sharesCpus(config.platform, deployment) ? [`${name} shares its CPUs: a pool with staticCpus gives CPUs to pods alone that ask for whole ones, and for all that they may have`] : [])),
    ...(fitted ? [`${measurement.workload.clients} clients on ${measurement.workload.threads} threads are the nearest to ${benchmark.clients} on ${benchmark.threads} that every cluster can share evenly`] : []),
    ...deployments.flatMap(({ name, bus, shape }) => (bus === null || nodeCount(shape) < LARGE ? [] : [`the cluster bus of ${name} is not in the cost: at rest at most${bus.usdPerHour === null ? " what its traffic between zones comes to" : ` $${Math.round(bus.usdPerHour)} per hour between zones`}`])),
  ];
}

/** On machines that would give whole CPUs to it alone. */
function sharesCpus(platform: PlatformConfig, deployment: DeploymentConfig): boolean {
  if (platform.type !== "eks") return false;
  const { pool = "servers", resources } = podSettings(platform, deployment);
  return platform.pools[pool]?.tuning.staticCpus === true && !(isGuaranteed(resources) && Number.isInteger(parseQuantity(resources.limits.cpu)));
}
