/** The only fact that is read from this machine is whether this user may partition networks. */
import { describeRestoreFrom } from "../../backup/restoring/restore-from";
import { installedChart } from "../../components/kubernetes/deployment/chart-values";
import { formatObjective } from "../../benchmarks/capacity/objective";
import { forecastCluster, measuredClusters } from "../../valkey/planning/forecast";
import { type MemoryPlan, memoryPlan } from "../../valkey/planning/memory-plan";
import { toDirectives } from "../../valkey/settings/settings";
import { survivalWarning } from "../../valkey/planning/survival";
import { busTraffic } from "../../valkey/topology/bus-traffic";
import { planCluster } from "../../valkey/topology/cluster-plan";
import {
  fileDescriptorsFor,
  LARGE_CLUSTER_NODES,
  nodeTimeoutFor,
  pingEquivalentTimeoutMs,
} from "../../valkey/planning/derived-settings";
import { type PlacedNode, nodeCount, rotateOverZones, spreadOverZones } from "../../valkey/topology/placement";
import { crossZoneUsdPerHour } from "../../platforms/eks/cost";
import type { EksPlan } from "../../platforms/eks/plan";
import { pricesOf } from "../../platforms/eks/offers/prices";
import { planScenarios } from "./scenario-runs";
import { storageNotes, plannedSurvivals } from "./notes";
import {
  configuredCapacitySearch,
  studyTreatments,
  fittedWorkload,
  configuredSentinels,
  configuredChart,
  configuredShape,
} from "./benchmark-plans";
import {
  deploymentZones,
  isPodPlatform,
  podSettings,
  runnerCount,
  platformZones,
  wholeCpus,
  memoryDemand,
} from "./pod-settings";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import type { StackConfig } from "../config/schema/stack";
import { planDuration } from "./duration";
import { eksLoad, eksPlan } from "./eks";
import type {
  StackPlan,
  DeploymentPlan,
  LargeClusterPlan,
  PodsPlan,
  MeasurementPlan,
  CapacityPlan,
  StudyPlan,
} from "./stack-plan-types";
import { PLAN_VERSION } from "./stack-plan-types";

/** Plans a stack from its parsed configuration. */
export function planStack(stack: string, config: StackConfig): StackPlan {
  const { platform, measures } = config;
  const eks = platform.type === "eks" ? eksPlan(platform, eksLoad(config)) : undefined;
  const deployments = Object.entries(config.deployments).map(([name, deployment]) =>
    planDeployment(name, deployment, platform),
  );
  const measurement = measures ? planMeasurement(config) : null;
  const study = planStudy(config);
  const scenarios = planScenarios(config);
  return {
    version: PLAN_VERSION,
    stack,
    platform: platform.type,
    zones: platformZones(platform),
    deployments,
    measurement,
    study,
    failures: scenarios.map(({ planned: { scenario }, deployment, skipReason }) => ({
      scenario: scenario.name,
      deployment,
      fault: scenario.fault.kind,
      skipReason: skipReason ?? null,
    })),
    eks: eks === undefined ? null : withoutProblems(eks),
    duration: planDuration(platform.type, deployments, measurement, study, scenarios),
    notes: [...(eks?.notes ?? []), ...notesOf(config, deployments, measurement)],
  };
}

/** The plan on EKS without its list of problems, which is always empty here. */
function withoutProblems(plan: EksPlan): Omit<EksPlan, "problems"> {
  return Object.fromEntries(Object.entries(plan).filter(([key]) => key !== "problems")) as Omit<EksPlan, "problems">;
}

function planDeployment(name: string, deployment: DeploymentConfig, platform: PlatformConfig): DeploymentPlan {
  const shape = configuredShape(deployment);
  const zones = deploymentZones(platform, deployment);
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${name}-${index}`);
  // Pods are spread evenly over the zones before they get their roles. Processes are placed by their roles.
  const placed =
    deployment.mode === "cluster" && !isPodPlatform(platform)
      ? rotateOverZones(names, shape, zones)
      : spreadOverZones(names, zones);
  return {
    name,
    engine: deployment.engine,
    mode: deployment.mode,
    chart: installedBy(deployment),
    shape,
    zones: Object.fromEntries(zones.map((zone) => [zone, placed.filter((node) => node.zone === zone).length])),
    shards: deployment.mode === "cluster" ? planCluster(placed, shape).shards : [],
    settings: Object.fromEntries(toDirectives(deployment.settings)),
    oversubscribed: deployment.oversubscribed,
    memory: planMemory(platform, deployment),
    survives: plannedSurvivals(platform, deployment),
    pods: isPodPlatform(platform) ? planPods(podSettings(platform, deployment), placed.length) : null,
    bus: deployment.mode === "cluster" ? planBus(deployment, placed, platform) : null,
    sentinel: configuredSentinels(deployment) ?? null,
    restoredFrom: deployment.restoreFrom === undefined ? null : describeRestoreFrom(deployment.restoreFrom),
    largeCluster:
      deployment.mode === "cluster" && placed.length >= LARGE_CLUSTER_NODES
        ? planLarge(deployment, placed.length, platform)
        : null,
  };
}

function installedBy(deployment: DeploymentConfig): string | null {
  const chart = configuredChart(deployment);
  return chart === undefined ? null : installedChart(chart.source, chart.version);
}

function planMemory(platform: PlatformConfig, deployment: DeploymentConfig): MemoryPlan | null {
  const demand = memoryDemand(platform, deployment);
  return demand === undefined ? null : memoryPlan(demand);
}

function planLarge({ settings }: DeploymentConfig, nodes: number, platform: PlatformConfig): LargeClusterPlan | null {
  const measured = measuredClusters();
  if (measured === undefined) return null;
  const { points, cores, version } = measured;
  const nodeTimeoutMs = settings["cluster-node-timeout"] ?? nodeTimeoutFor(nodes);
  const found = forecastCluster(points, nodes, {
    nodeTimeoutMs,
    pingTimeoutMs: pingEquivalentTimeoutMs(nodeTimeoutMs, settings),
    announceHostNames: isPodPlatform(platform),
  });
  if (found === undefined) return null;
  return {
    forecast: found,
    descriptors: fileDescriptorsFor(nodes),
    measured: { cores, version, sizes: [...new Set(points.map((point) => point.nodes))].sort((a, b) => a - b) },
  };
}

function planPods(
  { image, resources, storage, placement, pool, instanceType }: ReturnType<typeof podSettings>,
  count: number,
): PodsPlan {
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

function planBus(
  { settings }: DeploymentConfig,
  placed: readonly PlacedNode[],
  platform: PlatformConfig,
): DeploymentPlan["bus"] {
  const traffic = busTraffic(
    placed.length,
    pingEquivalentTimeoutMs(settings["cluster-node-timeout"] ?? nodeTimeoutFor(placed.length), settings),
    isPodPlatform(platform),
  );
  const perZone = new Map<string, number>();
  for (const { zone } of placed) perZone.set(zone, (perZone.get(zone) ?? 0) + 1);
  const within = [...perZone.values()].reduce((sum, count) => sum + (count / placed.length) ** 2, 0);
  const usd =
    platform.type === "eks" ? crossZoneUsdPerHour(traffic.bytes * (1 - within), pricesOf(platform.region)) : undefined;
  return { ...traffic, usdPerHour: usd ?? null };
}

function planMeasurement(config: StackConfig): MeasurementPlan {
  const { platform, deployments, benchmark, workloads } = config;
  const workload = fittedWorkload(config);
  const count =
    (workload.tests.length + Object.keys(workloads).length) * Object.keys(deployments).length * benchmark.repeats;
  const isPods = isPodPlatform(platform);
  return {
    workload,
    workloads,
    rounds: benchmark.repeats,
    capacity: planCapacity(config),
    count,
    runners: isPods ? runnerCount(platform, Object.values(deployments).map(configuredShape)) : 1,
    jobs: isPods ? count + benchmark.repeats + 2 : null,
  };
}

function planCapacity(config: StackConfig): CapacityPlan | null {
  const search = configuredCapacitySearch(config);
  if (search === undefined) return null;
  const {
    workload,
    objective,
    search: { initialRate, maxRate, precision, confirmations },
  } = search;
  const doublings = Math.max(0, Math.ceil(Math.log2(maxRate / initialRate))) + 1;
  const halvings = Math.max(0, Math.ceil(Math.log2(Math.log(2) / Math.log(1 + precision))));
  // Half of the halvings miss the objective, and such a load is offered again. The result and the next higher load each
  // need a majority of the confirmations.
  const offered = doublings + 1 + Math.ceil(1.5 * halvings) + 2 * (Math.floor(confirmations / 2) + 1);
  return {
    objective: formatObjective(objective),
    workload: workload.name,
    initialRate,
    maxRate,
    precision,
    probes: offered + 2 * confirmations,
    seconds: workload.warmup + workload.length.seconds,
  };
}

function planStudy({ study, deployments, benchmark }: StackConfig): StudyPlan | null {
  if (study === undefined) return null;
  const levels: [string, readonly (string | number)[] | undefined][] = Object.entries(study.vary);
  const varied = Object.fromEntries(levels.flatMap(([factor, each]) => (each === undefined ? [] : [[factor, each]])));
  return {
    treatments: studyTreatments({ deployments, benchmark, study }).length,
    varied,
    precision: study.precision,
    budget: study.budget,
  };
}

function notesOf(
  config: StackConfig,
  deployments: readonly DeploymentPlan[],
  measurement: MeasurementPlan | null,
): string[] {
  const notes: string[] = [];
  const { platform, benchmark } = config;
  if (platform.type === "eks" && platform.cluster.publicAccessCidrs.length === 0) {
    const remedy =
      "run Pulumi inside this network, or name the address block of Pulumi's machine in valkey:platform.cluster.publicAccessCidrs";
    notes.push(`only machines in the network of the cluster reach the API server: ${remedy}`);
  }
  for (const [name, deployment] of Object.entries(config.deployments)) {
    if (!sharesCpus(platform, deployment)) continue;
    notes.push(
      `the servers of ${name} share CPUs with other pods, because staticCpus needs whole CPUs and requests equal to limits`,
    );
  }
  notes.push(...storageNotes(config));
  if (isPodPlatform(platform) && platform.tls === undefined) {
    const open = Object.entries(config.deployments).filter(([, { external }]) => external !== undefined);
    const names = open.map(([name]) => name).join(", ");
    if (open.length > 0) notes.push(`${names}: passwords and data cross networks as plain text; set platform.tls`);
  }
  const workload = measurement?.workload ?? benchmark;
  if (workload.clients !== benchmark.clients || workload.threads !== benchmark.threads) {
    const wanted = `${benchmark.clients} clients on ${benchmark.threads} threads`;
    const rule = "because the primaries of every cluster can share these numbers evenly";
    notes.push(`${workload.clients} clients on ${workload.threads} threads instead of ${wanted}, ${rule}`);
  }
  for (const { name, survives } of deployments) {
    const warning = survivalWarning(survives);
    if (warning !== undefined) notes.push(`${name}: ${warning}`);
  }
  for (const { name, bus, shape } of deployments) {
    if (bus === null || nodeCount(shape) < LARGE_CLUSTER_NODES) continue;
    const most =
      bus.usdPerHour === null
        ? ""
        : `; without failures, this traffic costs at most $${Math.round(bus.usdPerHour)} per hour`;
    notes.push(`the cost does not include the traffic of the cluster bus of ${name} between zones${most}`);
  }
  return notes;
}

function sharesCpus(platform: PlatformConfig, deployment: DeploymentConfig): boolean {
  if (platform.type !== "eks") return false;
  const { pool = "servers", resources } = podSettings(platform, deployment);
  return platform.pools[pool]?.tuning.staticCpus === true && wholeCpus(resources) === undefined;
}
