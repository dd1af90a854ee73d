/** The archive of a deployment: a pod that follows the servers and writes what they send to an S3 bucket. */
import { type Problem, problem } from "../../../lib/errors";
import * as pulumi from "@pulumi/pulumi";
import { ARCHIVER_BUNDLE } from "../../../backup/archiver/bundle";
import type { ArchiverSettings } from "../../../backup/archiver/pod-settings";
import { ARCHIVER_PORT, DRILL_SECONDS, READY_PATH } from "../../../backup/archiver/pod-settings";
import { BACKUP_DEFAULTS, BACKUP_FIELDS } from "../../../model/backup";
import { pickFields } from "../../../model/fields";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { Mode } from "../../../valkey/node";
import type { BackupArgs } from "../backup-arguments";
import type { DeploymentContext, DeploymentKind } from "../deployment-context";
import { SECRET_DIRECTORY } from "../layout";
import { archiveLabels, objectNames } from "../names";
import { createBackupPodPolicy } from "../network-policy";
import { hostInPod } from "../pods/server-pod";
import { archiveResources } from "../pods/sidecar-resources";
import { createProgramPod } from "../program-pods/program-pod";
import { PASSWORD_FILE, TLS_FILES } from "../server-config";
import { backupProblems } from "./backup-problems";
import { type BucketAccess, bucketEgress, bucketPlace, createBucketAccess } from "./bucket-access";

const SPOOL_DIRECTORY = "/archive/spool";
/** Part of the spool volume that waiting data may use: a file is deleted only when all of it has been read. */
const SPOOL_PART = 0.75;
/** Time that a stopping pod has to write the received data to the bucket, seconds. */
const GRACE_SECONDS = 60;
const MOST_CRON_JOB = 52;

/** Problems of the backup's arguments, and of the name of the CronJob. */
export function archiveProblems(deployment: string, args: BackupArgs): Problem[] {
  const { drill: name } = objectNames(deployment);
  if (args.drill === undefined || name.length <= MOST_CRON_JOB) return backupProblems(args);
  const limit = `the CronJob ${name} needs a name of at most ${MOST_CRON_JOB} characters`;
  return [...backupProblems(args), problem("name-too-long", "drill", limit)];
}

/** @param target reference to the running servers @returns the pod's access to the bucket */
export function createArchive(
  context: DeploymentContext,
  kind: Pick<DeploymentKind, "mode" | "shape">,
  target: pulumi.Input<KubernetesReference>,
  args: BackupArgs,
): BucketAccess {
  const { deployment, names } = context;
  const name = names.archive;
  const { spoolSize = BACKUP_DEFAULTS.spoolSize } = args;
  const labels = archiveLabels(deployment);
  createBackupPodPolicy(context, {
    ...{ name, labels, bucket: bucketEgress(args), connectsToServers: true, metricsPort: ARCHIVER_PORT },
  });
  const access = createBucketAccess(context, target, name, "archive", args);
  createProgramPod(context, {
    ...{ component: "archive", name, labels, program: ARCHIVER_BUNDLE },
    nodeOptions: ["--max-semi-space-size=16"],
    settings: settingsOf(context, kind.mode, args, access),
    image: args.image,
    port: ARCHIVER_PORT,
    resources: archiveResources(kind.shape.primaries),
    dependsOn: access.dependsOn,
    hasToken: false,
    readyPath: READY_PATH,
    graceSeconds: GRACE_SECONDS,
    volumes: [{ name: "spool", emptyDir: { sizeLimit: spoolSize } }, ...access.volumes],
    volumeMounts: [{ name: "spool", mountPath: SPOOL_DIRECTORY }, ...access.volumeMounts],
  });
  return access;
}

function settingsOf(
  context: DeploymentContext,
  mode: Mode,
  args: BackupArgs,
  { credentialsDirectory }: BucketAccess,
): pulumi.Output<string> {
  const { deployment } = context;
  const { spoolSize, baseEverySeconds, keepSeconds, drill } = {
    ...BACKUP_DEFAULTS,
    ...pickFields(BACKUP_FIELDS, args),
  };
  const { tls } = context.args;
  return pulumi.all([bucketPlace(context, args), serversRecord(context)]).apply(([place, servers]) => {
    const settings: ArchiverSettings = {
      ...{ deployment, mode, servers, place },
      ...(credentialsDirectory === undefined ? {} : { credentialsDirectory }),
      baseEverySeconds,
      keepSeconds,
      ...(drill === undefined ? {} : { drillEverySeconds: DRILL_SECONDS[drill] }),
      spoolDirectory: `${SPOOL_DIRECTORY}/waiting`,
      spoolBytes: Math.floor(SPOOL_PART * parseQuantity(spoolSize)),
      passwordFile: `${SECRET_DIRECTORY}/${PASSWORD_FILE}`,
      ...(tls === undefined ? {} : { caFile: TLS_FILES.authority }),
    };
    return JSON.stringify(settings);
  });
}

/** Every part of the name is known, so that DNS asks once. */
export function serversRecord(context: DeploymentContext): pulumi.Output<string> {
  const host = hostInPod(context.names.headless, context);
  return pulumi
    .output(context.args.namespace)
    .apply((namespace) => `_valkey._tcp.${host.replaceAll("$(POD_NAMESPACE)", namespace)}`);
}
