/** Cross-field validation of the restore with which a new deployment begins. Pure. */
import { restoreProblems } from "../../../components/kubernetes/restoring/restore-problems";
import { compact } from "../../../lib/compact";
import type { Label } from "../../../lib/schema/problems";
import { isBucket } from "../../../valkey/archive/bucket/location";
import { restoreFromProblems as textProblems } from "../../../valkey/restoring/restore-from";
import { configuredChart } from "../../plan/benchmark-plans";
import { isPodPlatform } from "../../plan/pod-settings";
import { podRestore } from "../../plan/pod-restore";
import type { DeploymentConfig } from "../schema/deployments";
import type { PlatformConfig } from "../schema/platform";

/** Keys that only pods need, and the key that pods do not know. */
const OF_PODS = ["credentials", "role", "memory", "timeoutSeconds"] as const;
const OF_HOST = ["pathStyle"] as const;

export function restoreFromProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  const { restoreFrom, engine } = deployment;
  if (restoreFrom === undefined) return [];
  const path = label(["deployments", name, "restoreFrom"]);
  const own = (field: string): string => label(["deployments", name, "restoreFrom", field]);
  const onPods = isPodPlatform(platform);
  const foreign = (onPods ? OF_HOST : OF_PODS).filter((key) => restoreFrom[key] !== undefined);
  return compact([
    engine === "valkey" ? undefined : `${path}: needs Valkey, but ${name} runs ${engine}`,
    configuredChart(deployment) === undefined ? undefined : `${path}: cannot be set together with chart`,
    ...foreign.map((key) => `${own(key)}: does not apply to the platform ${platform.type}`),
    ...textProblems(restoreFrom).map((problem) => `${path}: ${problem}`),
    ...(onPods
      ? isBucket(restoreFrom.from)
        ? restoreProblems(podRestore(restoreFrom, platform), undefined)
            .filter(({ field }) => !TEXTS.has(field))
            .map(({ field, reason }) => `${own(field === "bucket" || field === "prefix" ? "from" : field)}: ${reason}`)
        : [`${own("from")}: it is ${JSON.stringify(restoreFrom.from)}; pods can only read s3://BUCKET/PREFIX`]
      : []),
  ]);
}

/** Fields that the check for all platforms has seen already. */
const TEXTS: ReadonlySet<string> = new Set(["at", "keys", "ttl", "endpoint"]);
