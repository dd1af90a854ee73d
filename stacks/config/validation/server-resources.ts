import { isGuaranteed } from "../../../components/kubernetes/pods/sidecar-resources";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { isPodPlatform, podSettings } from "../../plan/pod-settings";
import type { DeploymentConfig } from "../schema/deployments";
import type { PlatformConfig } from "../schema/platform";
import type { MachineFacts } from "./types";

/** The system and the load generator need the rest. */
export const MEMORY_SHARE = 0.9;

/** A pod's limits; on the platform `host` those of this machine, which all servers share. */
export interface ServerResources {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly of: "machine" | "pod";
  /** Whether the server may have exclusive CPUs: its pod is of the class Guaranteed and requests whole CPUs. */
  readonly pinned: boolean;
}

export function serverResources(
  platform: PlatformConfig | undefined,
  deployment: DeploymentConfig,
  machine: MachineFacts,
): ServerResources {
  if (platform === undefined || !isPodPlatform(platform)) return { ...machine, of: "machine", pinned: false };
  const { requests, limits } = podSettings(platform, deployment).resources;
  const cores = parseQuantity(limits.cpu);
  const pool = deployment.pods?.pool ?? "servers";
  // On existing machines the kubelet's CPU policy is not known, so exclusive CPUs are possible there.
  const mayPin = platform.type === "kubernetes" || platform.pools[pool]?.tuning.staticCpus === true;
  return {
    cores,
    memoryBytes: parseQuantity(limits.memory),
    of: "pod",
    pinned: mayPin && isGuaranteed({ requests, limits }) && Number.isInteger(cores),
  };
}
