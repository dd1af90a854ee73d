/** Cross-field validation of the restore with which a new deployment begins. Pure. */
import type { Problem } from "../../../lib/errors";
import { problem, within, problemText } from "../../../lib/errors";
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
): Problem[] {
  const { restoreFrom, engine } = deployment;
  if (restoreFrom === undefined) return [];
  const path = label(["deployments", name, "restoreFrom"]);
  const onPods = isPodPlatform(platform);
  const foreign = (onPods ? OF_HOST : OF_PODS).filter((key) => restoreFrom[key] !== undefined);
  return within(
    path,
    compact([
      engine === "valkey" ? undefined : problem("needs-valkey", "", `needs Valkey, but ${name} runs ${engine}`),
      configuredChart(deployment) === undefined
        ? undefined
        : problem("excluded-by-chart", "", "cannot be set together with chart"),
      ...foreign.map((key) => problem("other-platform", key, `does not apply to the platform ${platform.type}`)),
      ...textProblems(restoreFrom).map((each) => problem(each.code, "", problemText(each))),
      ...(onPods
        ? isBucket(restoreFrom.from)
          ? restoreProblems(podRestore(restoreFrom, platform), undefined)
              .filter((each) => !TEXTS.has(each.path))
              .map((each) => (["bucket", "prefix"].includes(each.path) ? { ...each, path: "from" } : each))
          : [
              problem(
                "not-a-bucket",
                "from",
                `it is ${JSON.stringify(restoreFrom.from)}; pods can only read s3://BUCKET/PREFIX`,
              ),
            ]
        : []),
    ]),
  );
}

/** Fields that the check for all platforms has seen already. */
const TEXTS: ReadonlySet<string> = new Set(["at", "keys", "ttl", "endpoint"]);
