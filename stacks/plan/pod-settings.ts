import { SERVER_IMAGES } from "../../platforms/kubernetes/default-images";
import type { Toleration } from "../../platforms/kubernetes/pods/running-pods";
import { toDirectives } from "../../valkey/settings/settings";
import type { RunnerPlan } from "../../benchmarks/load/jobs/job-plan";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import type { PoolName } from "../../platforms/eks/pools/pools";
import { LOAD_GENERATOR_SET, machineSetSelector, poolSelector, poolToleration } from "../../platforms/eks/pools/pools";
import { expectedTuning, UNTUNED } from "../../platforms/eks/pools/tuning";
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { ExpectedTuning } from "../../valkey/machine-settings";
import { isGuaranteed } from "../../components/kubernetes/pods/sidecar-resources";
import type { Placement } from "../../components/kubernetes/arguments";
import { tlsSecretName } from "../../components/kubernetes/names";
import { pullPolicy } from "../../components/kubernetes/pods/pod-basics";
import { podReference } from "../../components/kubernetes/deployment/reference";
import { configuredChart, configuredSentinels, configuredShape } from "./benchmark-plans";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import { type EksPlatformConfig, zoneNames } from "../config/schema/eks";
import type { KubernetesConfig } from "../config/schema/kubernetes";
import type { MemoryDemand } from "../../valkey/planning/memory-plan";

export type PodPlatform = KubernetesConfig | EksPlatformConfig;

/** Every cloud provider sets it. */
const INSTANCE_TYPE = "node.kubernetes.io/instance-type";

interface Amounts {
  readonly cpu: string;
  readonly memory: string;
}

export interface PodSettings {
  readonly image: string;
  readonly resources: { readonly requests: Amounts; readonly limits: Amounts };
  readonly storage: {
    readonly className?: string | undefined;
    readonly size: string;
    readonly onDestroy: "keep" | "delete";
    readonly ephemeral: boolean;
  };
  readonly placement: Placement;
  readonly pool: PoolName | undefined;
  readonly instanceType: string | undefined;
}

export function isPodPlatform(platform: PlatformConfig): platform is PodPlatform {
  return platform.type !== "host";
}

export function platformZones(platform: PlatformConfig): readonly string[] {
  return platform.type === "eks" ? zoneNames(platform) : platform.zones;
}

export function deploymentZones(platform: PlatformConfig, { pods }: Pick<DeploymentConfig, "pods">): readonly string[] {
  if (pods?.zones === undefined) return platformZones(platform);
  return platform.type === "eks" ? zoneNames({ region: platform.region, zones: pods.zones }) : pods.zones;
}

export function podSettings(platform: PodPlatform, deployment: Pick<DeploymentConfig, "engine" | "pods">): PodSettings {
  const { engine, pods } = deployment;
  const pool = platform.type === "eks" ? (pods?.pool ?? "servers") : undefined;
  return {
    image: pods?.image ?? (engine === "valkey" ? platform.image : SERVER_IMAGES[engine]),
    resources: pods?.resources ?? platform.resources,
    storage: {
      className: pods?.storage?.className ?? platform.storage.className,
      size: pods?.storage?.size ?? platform.storage.size,
      onDestroy: platform.type === "eks" ? "delete" : platform.storage.onDestroy,
      ephemeral: engine === "dragonfly" || (pods?.storage?.ephemeral ?? false),
    },
    placement: {
      zones: deploymentZones(platform, deployment),
      ...spreadOf(platform),
      oneMachine: pods?.oneMachine ?? false,
      ...whereOf(platform, pool, pods?.instanceType),
    },
    pool,
    instanceType: pods?.instanceType,
  };
}

/**
 * On EKS, `preferred` becomes `required`: Karpenter would start a machine for each pod, but the scheduler would place
 * two pods on the first one that is ready.
 */
function spreadOf({ type, hostAntiAffinity }: PodPlatform): Pick<Placement, "hostAntiAffinity" | "ownMachines"> {
  if (type !== "eks") return { hostAntiAffinity };
  return { hostAntiAffinity: hostAntiAffinity === "preferred" ? "required" : hostAntiAffinity, ownMachines: true };
}

function whereOf(
  platform: PodPlatform,
  pool: PoolName | undefined,
  instanceType: string | undefined,
): Pick<Placement, "nodeSelector" | "tolerations"> {
  if (platform.type === "kubernetes")
    return { nodeSelector: platform.nodeSelector, tolerations: platform.tolerations?.map(withoutUndefinedKeys) };
  if (pool === undefined) return {};
  return {
    nodeSelector: { ...poolSelector(pool), ...(instanceType === undefined ? {} : { [INSTANCE_TYPE]: instanceType }) },
    tolerations: [poolToleration(pool)],
  };
}

export function runnerCount({ clients }: PodPlatform, deployments: readonly { readonly primaries: number }[]): number {
  if (typeof clients.runners === "number") return clients.runners;
  return Math.max(
    1,
    Math.ceil(clients.runners.perPrimary * Math.max(1, ...deployments.map(({ primaries }) => primaries))),
  );
}

export function runnerZones({ region, zones, clients: { zone } }: EksPlatformConfig): string[] {
  return zoneNames({ region, zones: zone === undefined ? zones : [zone] });
}

/** Without undefined properties, which Kubernetes must not get. @param otherEngines whether any is not Valkey */
export function runnerPlan(platform: PodPlatform, runners: number, otherEngines: boolean): RunnerPlan {
  const { clients, image, imagePullPolicy, imagePullSecrets } = platform;
  return {
    runners,
    ...(platform.type === "eks" && { tuning: expectedTuning(platform.pools.clients.tuning) }),
    imagePullPolicy: pullPolicy(image, imagePullPolicy),
    ...(imagePullSecrets === undefined ? {} : { imagePullSecrets }),
    sharing: platform.type === "kubernetes" && platform.clients.shareMachines,
    ...(clients.requests === undefined ? {} : { resources: { requests: clients.requests } }),
    ...placeOfRunners(platform),
    // Images of other engines do not contain valkey-benchmark, so the platform's image is used.
    ...(otherEngines ? { image } : {}),
    ...(clients.images === undefined ? {} : { images: withoutUndefinedKeys(clients.images) }),
  };
}

function placeOfRunners(platform: PodPlatform): Pick<RunnerPlan, "nodeSelector" | "tolerations" | "ownMachinesIn"> {
  if (platform.type === "eks")
    return {
      nodeSelector: { ...poolSelector("clients"), ...machineSetSelector(LOAD_GENERATOR_SET) },
      tolerations: [poolToleration("clients")],
      ownMachinesIn: runnerZones(platform),
    };
  const { nodeSelector, tolerations } = platform.clients;
  return {
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(tolerations === undefined
      ? {}
      : { tolerations: tolerations.map((each): Toleration => withoutUndefinedKeys(each)) }),
  };
}

/** A copy without undefined properties, because Kubernetes' types do not allow them. */
export function withoutUndefinedKeys<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

export function podTarget(
  name: string,
  deployment: DeploymentConfig,
  platform: PodPlatform,
): Omit<KubernetesReference, "kubeconfig" | "context"> {
  const { engine, mode, settings } = deployment;
  return podReference(
    name,
    {
      ...{ engine, mode, shape: configuredShape(deployment), sentinel: configuredSentinels(deployment) },
      isUpstreamChart: configuredChart(deployment) !== undefined,
    },
    {
      namespace: platform.namespace,
      zones: deploymentZones(platform, deployment),
      settings,
      tls: platform.tls && { secretName: tlsSecretName(name, platform.tls) },
      tuning: expectedServerTuning(platform, deployment),
    },
  );
}

export function expectedServerTuning(platform: PodPlatform, deployment: DeploymentConfig): ExpectedTuning | undefined {
  if (platform.type !== "eks") return undefined;
  const { pool = "servers", resources } = podSettings(platform, deployment);
  const backlog = toDirectives(deployment.settings).get("tcp-backlog");
  return expectedTuning(platform.pools[pool]?.tuning ?? UNTUNED, { wholeCpus: wholeCpus(resources), backlog });
}

export function wholeCpus(resources: PodSettings["resources"]): number | undefined {
  const cpus = parseQuantity(resources.limits.cpu);
  return isGuaranteed(resources) && Number.isInteger(cpus) ? cpus : undefined;
}

/** Undefined on this machine, whose memory all servers share, and for Dragonfly, which does not fork. */
export function memoryDemand(platform: PlatformConfig, deployment: DeploymentConfig): MemoryDemand | undefined {
  const { engine, mode, settings } = deployment;
  if (!isPodPlatform(platform) || engine === "dragonfly") return undefined;
  const limitBytes = parseQuantity(podSettings(platform, deployment).resources.limits.memory);
  return { limitBytes, mode, shape: configuredShape(deployment), settings };
}
