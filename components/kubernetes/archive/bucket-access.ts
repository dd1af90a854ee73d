import * as pulumi from "@pulumi/pulumi";
import type { ArchiverSettings } from "../../../backup/archiver/pod-settings";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { PodCredentials } from "../../../operations/provider/resources";
import type { BucketArgs } from "../backup-arguments";
import { type DeploymentContext, objectMetadata } from "../deployment-context";
import { createSecretFiles } from "../files";
import * as k8s from "../kubernetes-sdk";
import { SECRET_MODE } from "../pods/pod-volumes";

/** Address of the EKS Pod Identity Agent on each machine. */
const POD_IDENTITY = "169.254.170.23/32";
/** An association takes effect after some seconds. */
const CREDENTIALS_SECONDS = 90;

const usesPodIdentity = ({ credentials, role }: BucketArgs): boolean => credentials === undefined && role === undefined;

export interface BucketAccess {
  readonly dependsOn: readonly pulumi.Resource[];
  /** Directory with the keys for the bucket; undefined if the pod takes a role. */
  readonly credentialsDirectory: string | undefined;
  readonly volumes: readonly k8s.types.input.core.v1.Volume[];
  readonly volumeMounts: readonly k8s.types.input.core.v1.VolumeMount[];
}

/**
 * With EKS Pod Identity, also waits until EKS gives new pods of the account credentials.
 * @param target reference to the servers
 * @param name of the service account and the Secret
 */
export function createBucketAccess(
  context: DeploymentContext,
  target: pulumi.Input<KubernetesReference>,
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
    dependsOn: [
      account,
      ...(secret?.dependsOn ?? []),
      ...(usesPodIdentity(args) ? [awaitCredentials(context, target, name, args, account)] : []),
    ],
    credentialsDirectory: secret === undefined ? undefined : directory,
    volumes:
      secret === undefined
        ? []
        : [{ name: "credentials", secret: { secretName: secret.name, defaultMode: SECRET_MODE } }],
    volumeMounts: secret === undefined ? [] : [{ name: "credentials", mountPath: directory, readOnly: true }],
  };
}

/** The bucket's name may come from the access to it. */
function awaitCredentials(
  context: DeploymentContext,
  target: pulumi.Input<KubernetesReference>,
  serviceAccount: string,
  { bucket }: BucketArgs,
  account: pulumi.Resource,
): pulumi.Resource {
  const cluster = pulumi.output(target);
  return new PodCredentials(
    serviceAccount,
    {
      kubeconfig: cluster.kubeconfig,
      context: cluster.context,
      namespace: context.args.namespace,
      serviceAccount,
      purpose: pulumi.interpolate`access to ${bucket}`,
      timeoutSeconds: CREDENTIALS_SECONDS,
    },
    pulumi.mergeOptions(context.options, { dependsOn: [account] }),
  );
}

/** The existing Secret `secretName`, or a new one with the keys in the arguments. */
function credentialsSecret(
  context: DeploymentContext,
  name: string,
  { secretName, accessKeyId = "", secretAccessKey = "" }: NonNullable<BucketArgs["credentials"]>,
): { readonly name: pulumi.Input<string>; readonly dependsOn: pulumi.Resource[] } {
  if (secretName !== undefined) return { name: secretName, dependsOn: [] };
  const keys = { accessKeyId: pulumi.secret(accessKeyId), secretAccessKey: pulumi.secret(secretAccessKey) };
  return { name, dependsOn: [createSecretFiles(context, name, keys)] };
}

/** The prefix of the archive's objects has the default NAMESPACE/NAME. */
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

/** No policy can name the addresses of a bucket: ports of the endpoint, AWS' token service, Pod Identity. */
export function bucketEgress(args: BucketArgs): k8s.types.input.networking.v1.NetworkPolicyEgressRule[] {
  const { endpoint, credentials } = args;
  const ports = new Set(endpoint === undefined ? [443] : [portOf(endpoint)]);
  if (credentials === undefined) ports.add(443);
  return [
    { ports: [...ports].map((port) => ({ protocol: "TCP", port })) },
    ...(usesPodIdentity(args)
      ? [{ to: [{ ipBlock: { cidr: POD_IDENTITY } }], ports: [{ protocol: "TCP", port: 80 }] }]
      : []),
  ];
}

function portOf(endpoint: string): number {
  const { port, protocol } = new URL(endpoint);
  return port === "" ? (protocol === "http:" ? 80 : 443) : Number(port);
}
