/** The restore with which a new deployment begins: the objects of the pod `NAME-restore`, and the pod's specification. */
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { RestorerSettings } from "../../../backup/restorer/pod-settings";
import { describeRestoreFrom } from "../../../backup/restoring/restore-from";
import { CHECK_VARIABLE } from "../../../backup/restoring/filling/fill-result";
import { parseInstant } from "../../../backup/restoring/instant";
import type { Mode } from "../../../valkey/node";
import { serversRecord } from "../archive/archive";
import { bucketEgress, bucketPlace, createBucketAccess } from "../archive/bucket-access";
import type { BucketArgs, RestoreFromArgs } from "../backup-arguments";
import type { DeploymentContext } from "../deployment-context";
import type * as k8s from "../kubernetes-sdk";
import { SECRET_DIRECTORY } from "../layout";
import { restoreLabels } from "../names";
import { createBackupPodPolicy } from "../network-policy";
import { createProgramFiles } from "../program-pods/program";
import { PASSWORD_FILE, TLS_FILES } from "../server-config";
import { restoredBucket } from "./restore-problems";
import { restorerPodSpec, restorerProgram, SCRATCH_DIRECTORY } from "./restorer-pod";

export interface RestorePods {
  /** Checks before the servers exist whether the archive can be restored. */
  readonly check: k8s.types.input.core.v1.PodSpec;
  readonly fill: k8s.types.input.core.v1.PodSpec;
  readonly labels: Record<string, string>;
  /** The archive, the time and the keys, as text for messages. */
  readonly source: pulumi.Output<string>;
  readonly dependsOn: readonly pulumi.Resource[];
}

/** @param target reference to the servers, which need not exist */
export function createRestorePods(
  context: DeploymentContext,
  target: pulumi.Input<KubernetesReference>,
  mode: Mode,
  args: RestoreFromArgs,
): RestorePods {
  const { deployment, names } = context;
  const bucket = restoredBucket(args, context.args.backup);
  if (bucket === undefined) throw new Error("restoreFrom was not checked");
  const labels = restoreLabels(deployment);
  const egress = bucketEgress(bucket);
  createBackupPodPolicy(context, { name: names.restore, labels, bucket: egress, connectsToServers: true });
  const access = createBucketAccess(context, target, names.restore, "restore", bucket);
  const settings = settingsOf(context, mode, args, bucket, access.credentialsDirectory);
  const program = restorerProgram(
    {
      ...{ component: "restore", name: names.restore, serviceAccount: names.restore },
      ...{ labels, settings, access, image: args.image },
    },
    args,
  );
  const files = createProgramFiles(context, program);
  const check = { ...program, connectsToServers: false, environment: { [CHECK_VARIABLE]: "yes" } };
  return {
    check: restorerPodSpec(context, check, files, args),
    fill: restorerPodSpec(context, program, files, args),
    labels,
    source: bucketPlace(context, bucket).apply((place) =>
      describeRestoreFrom({
        from: `s3://${place.bucket}/${place.prefix}`,
        at: args.at,
        keys: args.keys,
        ttl: args.ttl,
      }),
    ),
    dependsOn: [...access.dependsOn, ...files.dependsOn],
  };
}

function settingsOf(
  context: DeploymentContext,
  mode: Mode,
  { at, keys = [], ttl = "absolute" }: RestoreFromArgs,
  bucket: BucketArgs,
  credentialsDirectory: string | undefined,
): pulumi.Output<RestorerSettings> {
  const time = at === undefined ? undefined : parseInstant(at);
  const { tls } = context.args;
  return pulumi.all([bucketPlace(context, bucket), serversRecord(context)]).apply(([place, servers]) => ({
    place,
    ...(credentialsDirectory === undefined ? {} : { credentialsDirectory }),
    directory: SCRATCH_DIRECTORY,
    task: {
      kind: "fill" as const,
      deployment: context.deployment,
      ...{ mode, servers, ttl, keys: [...keys] },
      passwordFile: `${SECRET_DIRECTORY}/${PASSWORD_FILE}`,
      ...(tls === undefined ? {} : { caFile: TLS_FILES.authority }),
      ...(time === undefined ? {} : { at: time }),
    },
  }));
}
