import { type Problem, problem, within, problemText } from "../../../lib/errors";
import { backupProblems } from "../../../components/kubernetes/archive/backup-problems";
import { compact } from "../../../lib/compact";
import type { Label } from "../../../lib/schema/problems";
import { configuredChart } from "../../plan/benchmark-plans";
import { isPodPlatform } from "../../plan/pod-settings";
import type { BackupConfig } from "../schema/backup";
import type { DeploymentConfig } from "../schema/deployments";
import type { PlatformConfig } from "../schema/platform";
import type { Named } from "../sections/section-parser";
import { restoreProblems } from "../../../components/kubernetes/restoring/restore-problems";
import { isBucket } from "../../../backup/archive/bucket/location";
import { restoreFromProblems as textProblems } from "../../../backup/restoring/restore-from";
import { podRestore } from "../../plan/pod-restore";

/** Keys that only pods need, and the key that pods do not know. */
const OF_PODS = ["credentials", "role", "memory", "timeoutSeconds"] as const;
const OF_HOST = ["pathStyle"] as const;

/** Fields that the check for all platforms has seen already. */
const TEXTS: ReadonlySet<string> = new Set(["at", "keys", "ttl", "endpoint"]);

export function podBackupProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): Problem[] {
  const { backup } = deployment;
  if (backup === undefined) return [];
  const path = label(["deployments", name, "backup"]);
  return compact([
    configuredChart(deployment) === undefined
      ? undefined
      : problem("excluded-by-chart", path, "cannot be set together with chart"),
    ...(isPodPlatform(platform) ? within(path, bucketProblems(backup, platform, label)) : []),
  ]);
}

function bucketProblems({ bucket, ...backup }: BackupConfig, platform: PlatformConfig, label: Label): Problem[] {
  if (bucket !== undefined) return backupProblems({ ...backup, bucket });
  if (platform.type !== "eks") return [problem("no-bucket", "bucket", "it is missing; expected the name of a bucket")];
  const backups = label(["platform", "backups"]);
  if (platform.backups === undefined)
    return [
      problem(
        "no-bucket-on-eks",
        "bucket",
        `it is missing; name a bucket, or set ${backups}: {}, so that the stack creates one`,
      ),
    ];
  const { endpoint, region, credentials, role, encryption } = backup;
  const excluded = { endpoint, region, credentials, role, encryption: encryption === "none" ? undefined : encryption };
  // The platform knows where its bucket is, how it is encrypted, and how pods get access to it.
  const known = { ...backup, bucket: PLACEHOLDER, region: platform.region };
  return [
    ...Object.entries(excluded).flatMap(([field, value]) =>
      value === undefined ? [] : [problem("needs-bucket", field, `needs bucket; the bucket of ${backups} has its own`)],
    ),
    ...backupProblems(known).filter(({ path }) => !Object.keys(excluded).includes(path)),
  ];
}

/** A name that every check of buckets accepts. */
const PLACEHOLDER = "bucket-of-the-platform";

/** Each of two deployments whose parts overlap could read and delete backups of the other. */
export function sharedPrefixProblems(
  deployments: readonly Named<DeploymentConfig>[],
  platform: PlatformConfig,
  label: Label,
): Problem[] {
  if (platform.type !== "eks" || platform.backups === undefined) return [];
  const parts = deployments.flatMap(([name, { backup }]) =>
    backup === undefined || backup.bucket !== undefined
      ? []
      : [{ name, prefix: backup.prefix ?? `${platform.namespace}/${name}` }],
  );
  return parts.flatMap(({ name, prefix }, index) =>
    parts
      .slice(0, index)
      .flatMap((other) =>
        `${prefix}/`.startsWith(`${other.prefix}/`) || `${other.prefix}/`.startsWith(`${prefix}/`)
          ? [
              problem(
                "overlapping-prefix",
                label(["deployments", name, "backup", "prefix"]),
                `${prefix} and ${other.prefix} of ${other.name} overlap; expected a part of the bucket for each deployment`,
              ),
            ]
          : [],
      ),
  );
}

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
