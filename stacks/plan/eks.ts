/** Loads no SDK. */
import { compact } from "../../lib/compact";
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import { type EksPlan, type EksPlanArgs, planEks } from "../../platforms/eks/plan";
import { type PodGroup, clientPodGroup, serverPodGroup } from "../../platforms/eks/pools/pod-groups";
import { LOAD_GENERATOR_SET } from "../../platforms/eks/pools/pools";
import { type StorageClassName, STORAGE_CLASS_NAMES } from "../../platforms/eks/offers/storage-classes";
import {
  EXPORTER_RESOURCES,
  isGuaranteed,
  PROXY_COUNT,
  FAILOVER_RESOURCES,
} from "../../components/kubernetes/pods/sidecar-resources";
import { objectNames } from "../../components/kubernetes/names";
import { configuredSentinels, configuredShape } from "./benchmark-plans";
import { clientImages, proxyImage, serverImages } from "./images";
import { podSettings, runnerCount, runnerZones } from "./pod-settings";
import type { BenchmarkConfig } from "../config/schema/benchmark";
import type { DeploymentConfig } from "../config/schema/deployments";
import { type EksPlatformConfig, zoneNames } from "../config/schema/eks";
import type { StackConfig } from "../config/schema/stack";
import type { WorkloadConfig } from "../../benchmarks/workloads/mixed-workload-schema";

interface EksLoad {
  readonly deployments: Readonly<Record<string, DeploymentConfig>>;
  readonly benchmark: BenchmarkConfig | undefined;
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
}

export function eksLoad({ deployments, measures, benchmark, workloads }: StackConfig): EksLoad {
  return { deployments, benchmark: measures ? benchmark : undefined, workloads };
}

export function eksPlan(platform: EksPlatformConfig, load: EksLoad): EksPlan {
  return planEks(eksPlanArgs(platform, load));
}

export function eksPlanArgs(platform: EksPlatformConfig, { deployments, benchmark, workloads }: EksLoad): EksPlanArgs {
  const { region, network, system, pools, cluster, imageCache, backups } = platform;
  return {
    region,
    zones: zoneNames(platform),
    network: "vpcId" in network ? { existing: true } : { existing: false, cidr: network.cidr, nat: network.nat },
    system,
    pools,
    groups: compact([
      ...Object.entries(deployments).flatMap(([name, deployment]) => [
        serverGroup(name, deployment, platform),
        ...watcherGroups(name, deployment, platform),
      ]),
      benchmark === undefined ? undefined : clientGroup(platform, deployments, workloads),
    ]),
    controlPlaneTier: cluster.controlPlaneTier,
    imageCache,
    backups,
    backedUp: Object.entries(deployments).flatMap(([name, { backup }]) =>
      backup !== undefined && backup.bucket === undefined ? [name] : [],
    ),
    ownKey: cluster.keyArn === undefined,
  };
}

const GIB = 1024 ** 3;
const requestedAmounts = ({
  cpu,
  memory,
}: {
  readonly cpu: string;
  readonly memory: string;
}): Pick<PodGroup, "cpuMilli" | "memoryMiB"> => ({
  cpuMilli: Math.ceil(parseQuantity(cpu) * 1000),
  memoryMiB: Math.ceil(parseQuantity(memory) / 1024 ** 2),
});

function serverGroup(name: string, deployment: DeploymentConfig, platform: EksPlatformConfig): PodGroup {
  const { resources, storage, placement, pool = "servers", instanceType } = podSettings(platform, deployment);
  const server = requestedAmounts(resources.requests);
  const exporter =
    platform.metrics === undefined
      ? { cpuMilli: 0, memoryMiB: 0 }
      : requestedAmounts(isGuaranteed(resources) ? EXPORTER_RESOURCES.limits : EXPORTER_RESOURCES.requests);
  return serverPodGroup({
    name,
    pool,
    images: serverImages(platform, deployment),
    shape: configuredShape(deployment),
    zones: placement.zones,
    cpuMilli: server.cpuMilli + exporter.cpuMilli,
    memoryMiB: server.memoryMiB + exporter.memoryMiB,
    // Unknown storage classes are refused elsewhere.
    volume: storage.ephemeral
      ? undefined
      : {
          gib: parseQuantity(storage.size) / GIB,
          storageClass:
            STORAGE_CLASS_NAMES.find((each) => each === storage.className) ?? ("gp3" satisfies StorageClassName),
        },
    separate: placement.hostAntiAffinity !== "none",
    together: placement.oneMachine === true,
    instanceType,
  });
}

/** These pods run on machines of the servers' pool. */
function watcherGroups(name: string, deployment: DeploymentConfig, platform: EksPlatformConfig): PodGroup[] {
  const sentinel = configuredSentinels(deployment);
  if (sentinel === undefined) return [];
  const { image, placement, pool = "servers", instanceType } = podSettings(platform, deployment);
  const names = objectNames(name);
  const common = {
    owner: name,
    pool,
    zones: placement.zones,
    ...requestedAmounts(FAILOVER_RESOURCES.requests),
    separate: placement.hostAntiAffinity !== "none",
    together: placement.oneMachine === true,
    instanceType,
  };
  const proxyZones = placement.zones.slice(0, PROXY_COUNT);
  return [
    clientPodGroup({
      ...common,
      name: `Sentinels of ${name}`,
      label: names.sentinel,
      count: sentinel.count,
      images: [image],
    }),
    clientPodGroup({
      ...common,
      name: `proxies of ${name}`,
      label: names.proxy,
      count: PROXY_COUNT,
      zones: proxyZones,
      images: [proxyImage(platform)],
    }),
  ];
}

/** One group is enough, because measurements run one after another. */
function clientGroup(
  platform: EksPlatformConfig,
  deployments: EksLoad["deployments"],
  workloads: EksLoad["workloads"],
): PodGroup {
  return clientPodGroup({
    name: "load generators",
    label: LOAD_GENERATOR_SET,
    pool: "clients",
    images: clientImages(platform, deployments, workloads),
    count: runnerCount(platform, Object.values(deployments).map(configuredShape)),
    zones: runnerZones(platform),
    ...requestedAmounts(platform.clients.requests),
    separate: true,
    together: false,
    instanceType: undefined,
  });
}
