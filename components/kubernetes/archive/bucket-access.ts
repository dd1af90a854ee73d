/** The access of a pod to a bucket: its service account, credentials, connections, and the settings of its program. */
import * as pulumi from "@pulumi/pulumi";
import type { ArchiverSettings } from "../../../archiver/pod-settings";
import type { BucketArgs } from "../backup-arguments";
import type { DeploymentContext } from "../deployment-context";
import { objectMetadata } from "../deployment-context";
import { createSecretFiles } from "../files";
import * as k8s from "../kubernetes-sdk";
import { SECRET_MODE } from "../pods/pod-volumes";

/** Address of the EKS Pod Identity Agent on each machine. */
const POD_IDENTITY = "169.254.170.23/32";

/** Access of a pod to a bucket. */
export interface BucketAccess {
  /** Resources that must exist before the pod. */
  readonly dependsOn: readonly pulumi.Resource[];
  /** Directory with the keys for the bucket; undefined if the pod takes a role. */
  readonly credentialsDirectory: string | undefined;
  readonly volumes: readonly k8s.types.input.core.v1.Volume[];
  readonly volumeMounts: readonly k8s.types.input.core.v1.VolumeMount[];
}

/**
 * Creates a pod's service account and, for keys in the arguments, a Secret.
 * @param name name of the service account and of the Secret
 * @param component label `app.kubernetes.io/component` of the service account
 */
export function createBucketAccess(
  context: DeploymentContext,
  name: string,
  component: string,
  args: BucketArgs,
): BucketAccess {
  const { credentials, role } = args;
  const secret = credentials && credentialsSecret(context, name, credentials);
  const account = new k8s.core.v1.ServiceAccount(
    name,
    {
      metadata: {
        ...objectMetadata(context, name, component),
        ...(role === undefined ? {} : { annotations: { "eks.amazonaws.com/role-arn": role } }),
      },
      automountServiceAccountToken: false,
    },
    context.options,
  );
  const directory = `/${component}/credentials`;
  return {
    dependsOn: [account, ...(secret?.dependsOn ?? [])],
    credentialsDirectory: secret === undefined ? undefined : directory,
    volumes:
      secret === undefined
        ? []
        : [{ name: "credentials", secret: { secretName: secret.name, defaultMode: SECRET_MODE } }],
    volumeMounts: secret === undefined ? [] : [{ name: "credentials", mountPath: directory, readOnly: true }],
  };
}

/**
 * The Secret with the keys for the bucket: the existing Secret `secretName`, or a new Secret with the keys in the
 * arguments.
 */
function credentialsSecret(
  context: DeploymentContext,
  name: string,
  { secretName, accessKeyId = "", secretAccessKey = "" }: NonNullable<BucketArgs["credentials"]>,
): { readonly name: pulumi.Input<string>; readonly dependsOn: pulumi.Resource[] } {
  if (secretName !== undefined) return { name: secretName, dependsOn: [] };
  const keys = { accessKeyId: pulumi.secret(accessKeyId), secretAccessKey: pulumi.secret(secretAccessKey) };
  return { name, dependsOn: [createSecretFiles(context, name, keys)] };
}

/** The bucket in the settings of a program. The prefix of the archive's objects has the default NAMESPACE/NAME. */
export function bucketPlace(
  { deployment, args: { namespace } }: DeploymentContext,
  { bucket, prefix, endpoint, region, encryption }: BucketArgs & { readonly encryption?: string | undefined },
): pulumi.Output<ArchiverSettings["place"]> {
  return pulumi.all([bucket, prefix, region, namespace]).apply(([inBucket, below, where, space]) => ({
    bucket: inBucket,
    prefix: below ?? `${space}/${deployment}`,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(where === undefined ? {} : { region: where }),
    ...(encryption === undefined ? {} : { encryption }),
  }));
}

/**
 * Rules for the connections to the bucket. No policy can name the addresses of a bucket, so the rules name ports: the
 * port of the endpoint, 443 for AWS and its token service, and EKS Pod Identity if the pod has no other credentials.
 */
export function bucketEgress({
  endpoint,
  credentials,
  role,
}: BucketArgs): k8s.types.input.networking.v1.NetworkPolicyEgressRule[] {
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
