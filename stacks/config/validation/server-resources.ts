/** The cores and the memory that a server has. Pure. */
import { isGuaranteed } from "../../../components/kubernetes/pods/sidecar-resources";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { isPodPlatform, podSettings } from "../../plan/pods";
import type { DeploymentConfig } from "../schema/deployments";
import type { PlatformConfig } from "../schema/platform";
import type { MachineFacts } from "./types";

/** Part of a machine's or a pod's memory that servers may be given; the system and the load generator need the rest. */
export const MEMORY_SHARE = 0.9;

/** Resources of a server: its pod's limits, or this machine, which it shares with all others. */
export interface ServerResources {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly of: "machine" | "pod";
  /** Whether the pod has whole CPUs to itself: it is Guaranteed, and requests whole CPUs. */
  readonly pinned: boolean;
}

/** The resources of each server of a deployment. */
export function serverResources(
  platform: PlatformConfig | undefined,
  deployment: DeploymentConfig,
  machine: MachineFacts,
): ServerResources {
  if (platform === undefined || !isPodPlatform(platform)) return { ...machine, of: "machine", pinned: false };
  const { requests, limits } = podSettings(platform, deployment).resources;
  const cores = parseQuantity(limits.cpu);
  const pool = deployment.pods?.pool ?? "servers";
  // The CPU policy of kubelets that exist already is not known; static CPUs are possible there.
  const mayPin = platform.type === "kubernetes" || platform.pools[pool]?.tuning.staticCpus === true;
  return {
    cores,
    memoryBytes: parseQuantity(limits.memory),
    of: "pod",
    pinned: mayPin && isGuaranteed({ requests, limits }) && Number.isInteger(cores),
  };
}
