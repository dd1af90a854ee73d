import { compact } from "../../lib/compact";
import { EXPORTER_IMAGE, MEMTIER_IMAGE, NODE_IMAGE, PROXY_IMAGE } from "../../platforms/kubernetes/default-images";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { EksPlatformConfig } from "../config/schema/eks";
import type { WorkloadConfig } from "../../benchmarks/workloads/mixed-workload-schema";
import { type PodPlatform, podSettings } from "./pod-settings";

type Deployments = Readonly<Record<string, DeploymentConfig>>;

export function serverImages(platform: PodPlatform, deployment: DeploymentConfig): string[] {
  const { image } = podSettings(platform, deployment);
  return platform.metrics === undefined ? [image] : [image, platform.metrics.image ?? EXPORTER_IMAGE];
}

export function proxyImage({ proxyImage: own }: PodPlatform): string {
  return own ?? PROXY_IMAGE;
}

export function clientImages(
  platform: PodPlatform,
  deployments: Deployments,
  workloads: Readonly<Record<string, WorkloadConfig>>,
): string[] {
  const all = Object.values(deployments);
  const [first] = all;
  const isMixed = all.some(({ engine }) => engine !== "valkey");
  const generators = new Set(Object.values(workloads).map(({ loadGenerator }) => loadGenerator));
  const { node = NODE_IMAGE, memtier = MEMTIER_IMAGE } = platform.clients.images ?? {};
  return compact([
    isMixed || first === undefined ? platform.image : podSettings(platform, first).image,
    generators.has("open-loop") ? node : undefined,
    generators.has("memtier") ? memtier : undefined,
  ]);
}

export function withImages<C extends { readonly deployments: Deployments }>(
  platform: EksPlatformConfig,
  config: C,
  rename: (image: string) => string,
): { readonly platform: EksPlatformConfig; readonly config: C } {
  const { metrics, clients } = platform;
  const { node = NODE_IMAGE, memtier = MEMTIER_IMAGE } = clients.images ?? {};
  const deployments = Object.entries(config.deployments).map(([name, deployment]) => {
    const image = rename(podSettings(platform, deployment).image);
    return [name, { ...deployment, pods: { oneMachine: false, ...deployment.pods, image } }] as const;
  });
  return {
    platform: {
      ...platform,
      image: rename(platform.image),
      proxyImage: rename(proxyImage(platform)),
      ...(metrics === undefined ? {} : { metrics: { ...metrics, image: rename(metrics.image ?? EXPORTER_IMAGE) } }),
      clients: { ...clients, images: { node: rename(node), memtier: rename(memtier) } },
    },
    config: { ...config, deployments: Object.fromEntries(deployments) },
  };
}
