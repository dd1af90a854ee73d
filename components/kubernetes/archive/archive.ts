/** The archive of a deployment: a pod that follows the servers and writes what they send to an S3 bucket. */
import * as pulumi from "@pulumi/pulumi";
import { ARCHIVER_BUNDLE } from "../../../archiver/bundle";
import type { ArchiverSettings } from "../../../archiver/pod-settings";
import { ARCHIVER_PORT, BASE_SECONDS, KEEP_SECONDS, READY_PATH } from "../../../archiver/pod-settings";
import { BadInput } from "../../../lib/errors";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { Mode } from "../../../valkey/node";
import type { BackupArgs } from "../backup-arguments";
import type { DeploymentContext } from "../deployment-context";
import { objectMetadata } from "../deployment-context";
import type { DeploymentKind } from "../deployment-kind";
import { createSecretFiles } from "../files";
import * as k8s from "../kubernetes-sdk";
import { SECRET_DIRECTORY } from "../layout";
import { archiveLabels } from "../names";
import { createArchivePolicy } from "../network-policy";
import { hostInPod } from "../pods/server-pod";
import { SECRET_MODE } from "../pods/pod-volumes";
import { archiveResources } from "../pods/sidecar-resources";
import { createProgramPod } from "../program-pods/program-pod";
import { PASSWORD_FILE, TLS_FILES } from "../server-config";
import { backupProblems } from "./backup-problems";

const CREDENTIALS_DIRECTORY = "/archive/credentials";
const SPOOL_DIRECTORY = "/archive/spool";
const SPOOL_SIZE = "4Gi";
/**
 * Part of the pod's spool volume that waiting data may use. The rest is a reserve, because a file of the spool is
 * deleted only when all of it has been read.
 */
const SPOOL_PART = 0.75;
/** Time that a stopping pod has to write the received data to the bucket, seconds. */
const GRACE_SECONDS = 60;
/** Address of the EKS Pod Identity Agent on each machine. */
const POD_IDENTITY = "169.254.170.23/32";

/** @throws BadInput with every problem of the backup's arguments */
export function checkBackup(deployment: string, args: BackupArgs | undefined): void {
  const problems = args === undefined ? [] : backupProblems(args);
  if (problems.length === 0) return;
  throw new BadInput(
    deployment,
    problems.map(({ field, reason }) => `backup.${field}: ${reason}`),
  );
}

/** Creates the pod `NAME-archive`, its service account, its network policy and, for keys in the arguments, a Secret. */
export function createArchive(
  context: DeploymentContext,
  kind: Pick<DeploymentKind, "mode" | "shape">,
  args: BackupArgs,
): void {
  const { deployment, names } = context;
  const name = names.archive;
  const { credentials, role, spoolSize = SPOOL_SIZE } = args;
  const secret = credentials && credentialsSecret(context, args);
  createArchivePolicy(context, ARCHIVER_PORT, bucketEgress(args));
  const account = new k8s.core.v1.ServiceAccount(
    name,
    {
      metadata: {
        ...objectMetadata(context, name, "archive"),
        ...(role === undefined ? {} : { annotations: { "eks.amazonaws.com/role-arn": role } }),
      },
      automountServiceAccountToken: false,
    },
    context.options,
  );
  createProgramPod(context, {
    component: "archive",
    name,
    labels: archiveLabels(deployment),
    program: ARCHIVER_BUNDLE,
    nodeOptions: ["--max-semi-space-size=16"],
    settings: settingsOf(context, kind.mode, args),
    image: args.image,
    port: ARCHIVER_PORT,
    resources: archiveResources(kind.shape.primaries),
    dependsOn: [account, ...(secret?.dependsOn ?? [])],
    hasToken: false,
    readyPath: READY_PATH,
    graceSeconds: GRACE_SECONDS,
    volumes: [
      { name: "spool", emptyDir: { sizeLimit: spoolSize } },
      ...(secret === undefined
        ? []
        : [{ name: "credentials", secret: { secretName: secret.name, defaultMode: SECRET_MODE } }]),
    ],
    volumeMounts: [
      { name: "spool", mountPath: SPOOL_DIRECTORY },
      ...(secret === undefined ? [] : [{ name: "credentials", mountPath: CREDENTIALS_DIRECTORY, readOnly: true }]),
    ],
  });
}

/**
 * The Secret with the keys for the bucket: the existing Secret `secretName`, or a new Secret with the keys in the
 * arguments.
 */
function credentialsSecret(
  context: DeploymentContext,
  { credentials }: BackupArgs,
): { readonly name: pulumi.Input<string>; readonly dependsOn: pulumi.Resource[] } {
  const { secretName, accessKeyId = "", secretAccessKey = "" } = credentials ?? {};
  if (secretName !== undefined) return { name: secretName, dependsOn: [] };
  const { archive: name } = context.names;
  const keys = { accessKeyId: pulumi.secret(accessKeyId), secretAccessKey: pulumi.secret(secretAccessKey) };
  return { name, dependsOn: [createSecretFiles(context, name, keys)] };
}

function settingsOf(context: DeploymentContext, mode: Mode, args: BackupArgs): pulumi.Output<string> {
  const { deployment, names } = context;
  const { bucket, prefix, endpoint, region, encryption, credentials, spoolSize = SPOOL_SIZE } = args;
  const { baseEverySeconds = BASE_SECONDS.default, keepSeconds = KEEP_SECONDS.default } = args;
  const { namespace, tls } = context.args;
  return pulumi.all([bucket, prefix, region, namespace]).apply(([inBucket, below, where, space]) => {
    const settings: ArchiverSettings = {
      deployment,
      mode,
      // Every part of the name is known, so that DNS asks once.
      servers: `_valkey._tcp.${hostInPod(names.headless, context).replaceAll("$(POD_NAMESPACE)", space)}`,
      place: {
        bucket: inBucket,
        prefix: below ?? `${space}/${deployment}`,
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(where === undefined ? {} : { region: where }),
        ...(encryption === undefined ? {} : { encryption }),
      },
      ...(credentials === undefined ? {} : { credentialsDirectory: CREDENTIALS_DIRECTORY }),
      baseEverySeconds,
      keepSeconds,
      spoolDirectory: `${SPOOL_DIRECTORY}/waiting`,
      spoolBytes: Math.floor(SPOOL_PART * parseQuantity(spoolSize)),
      passwordFile: `${SECRET_DIRECTORY}/${PASSWORD_FILE}`,
      ...(tls === undefined ? {} : { caFile: TLS_FILES.authority }),
    };
    return JSON.stringify(settings);
  });
}

/**
 * Rules for the connections to the bucket. No policy can name the addresses of a bucket, so the rules name ports: the
 * port of the endpoint, 443 for AWS and its token service, and EKS Pod Identity if the pod has no other credentials.
 */
function bucketEgress({
  endpoint,
  credentials,
  role,
}: BackupArgs): k8s.types.input.networking.v1.NetworkPolicyEgressRule[] {
  const ports = new Set(endpoint === undefined ? [443] : [portOf(endpoint)]);
  if (credentials === undefined) ports.add(443);
  const identity = credentials === undefined && role === undefined;
  return [
    { ports: [...ports].map((port) => ({ protocol: "TCP", port })) },
    ...(identity ? [{ to: [{ ipBlock: { cidr: POD_IDENTITY } }], ports: [{ protocol: "TCP", port: 80 }] }] : []),
  ];
}

function portOf(endpoint: string): number {
  const { port, protocol } = new URL(endpoint);
  return port === "" ? (protocol === "http:" ? 80 : 443) : Number(port);
}
