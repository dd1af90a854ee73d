import * as pulumi from "@pulumi/pulumi";
import type { DrillInterval } from "../../../model/backup";
import { checksum } from "../../../lib/checksum";
import type { RestorerSettings } from "../../../backup/restorer/pod-settings";
import { type BucketAccess, bucketEgress, bucketPlace } from "../archive/bucket-access";
import type { BackupArgs } from "../backup-arguments";
import { type DeploymentContext, objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";
import { drillLabels } from "../names";
import { createBackupPodPolicy } from "../network-policy";
import { createProgramFiles } from "../program-pods/program";
import { restorerPodSpec, restorerProgram, SCRATCH_DIRECTORY } from "./restorer-pod";

const DEADLINE_SECONDS = 86_400;
/** Time after the planned start in which a drill may still start, for example when the control plane was away, seconds. */
const STARTING_SECONDS = 3_600;
/** Time for which a finished drill can be inspected, seconds. */
const KEPT_SECONDS = 604_800;

/** The archive pod's service account: one permission for the bucket serves both. @param access of the archive's pod */
export function createDrill(
  context: DeploymentContext,
  interval: DrillInterval,
  args: BackupArgs,
  access: BucketAccess,
): void {
  const { deployment, names, options } = context;
  const name = names.drill;
  const labels = drillLabels(deployment);
  createBackupPodPolicy(context, { name, labels, bucket: bucketEgress(args), connectsToServers: false });
  const settings = bucketPlace(context, args).apply((place): RestorerSettings => {
    const { credentialsDirectory } = access;
    return {
      place,
      ...(credentialsDirectory === undefined ? {} : { credentialsDirectory }),
      directory: SCRATCH_DIRECTORY,
      task: { kind: "drill", deployment },
    };
  });
  const sizes = { memory: args.drillMemory };
  const program = restorerProgram(
    {
      ...{ component: "drill", name, labels, serviceAccount: names.archive, connectsToServers: false },
      ...{ settings, access, image: args.image },
    },
    sizes,
  );
  const files = createProgramFiles(context, program);
  new k8s.batch.CronJob(
    name,
    {
      metadata: objectMetadata(context, name, "drill"),
      spec: {
        schedule: drillSchedule(deployment, interval),
        concurrencyPolicy: "Forbid",
        startingDeadlineSeconds: STARTING_SECONDS,
        successfulJobsHistoryLimit: 1,
        failedJobsHistoryLimit: 1,
        jobTemplate: {
          metadata: { labels },
          spec: {
            // A drill starts once more if its pod is lost, for example with its machine. A drill that fails does not.
            backoffLimit: 1,
            podFailurePolicy: {
              rules: [
                { action: "FailJob", onExitCodes: { containerName: program.component, operator: "In", values: [1] } },
              ],
            },
            activeDeadlineSeconds: DEADLINE_SECONDS,
            ttlSecondsAfterFinished: KEPT_SECONDS,
            template: { metadata: { labels }, spec: restorerPodSpec(context, program, files, sizes) },
          },
        },
      },
    },
    pulumi.mergeOptions(options, { dependsOn: [...files.dependsOn, ...access.dependsOn] }),
  );
}

/** In Kubernetes' time zone. By the deployment's name, so that drills start at different times. */
export function drillSchedule(deployment: string, interval: DrillInterval): string {
  const number = Number.parseInt(checksum(deployment).slice(0, 8), 16);
  const minute = number % 60;
  const hour = Math.floor(number / 60) % 24;
  const day = Math.floor(number / (60 * 24));
  const days: Record<DrillInterval, string> = {
    daily: "* * *",
    weekly: `* * ${day % 7}`,
    // Every month has this day.
    monthly: `${1 + (day % 28)} * *`,
  };
  return `${minute} ${hour} ${days[interval]}`;
}
