/** Access of one deployment on an EKS cluster to backups in a bucket, by EKS Pod Identity. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { checksum } from "../../lib/checksum";
import { objectNames } from "../kubernetes/names";
import { clusterArn, currentAccount } from "./aws/account";
import { podIdentityTrust } from "./aws/roles";
import { backupRights, restoreRights } from "./backup-policies";
import type { PolicyDocument } from "./karpenter/karpenter-policies";

/** Arguments of a deployment's access to its part of a bucket. */
export interface BackupAccessArgs {
  /** Name of the EKS cluster. The cluster needs the add-on `eks-pod-identity-agent`. */
  readonly clusterName: string;
  /** Name of the bucket, which must be in the region and the account of the cluster. */
  readonly bucket: pulumi.Input<string>;
  /** Name of the deployment. */
  readonly deployment: string;
  /** Namespace of the deployment. @default "default" */
  readonly namespace?: string | undefined;
  /** Beginning of the names of all objects of the deployment. @default "NAMESPACE/DEPLOYMENT" */
  readonly prefix?: string | undefined;
  /** ARN of your own KMS key that encrypts the bucket. @default none: the bucket does not use such a key */
  readonly keyArn?: string | undefined;
}

/** Arguments of a restore's access to the archive of any deployment. */
export interface RestoreAccessArgs {
  /** Name of the EKS cluster. The cluster needs the add-on `eks-pod-identity-agent`. */
  readonly clusterName: string;
  /** Name of the bucket with the archive, which must be in the account of the cluster. */
  readonly bucket: pulumi.Input<string>;
  /** Name of the new deployment, which gets the data. */
  readonly deployment: string;
  /** Namespace of the new deployment. @default "default" */
  readonly namespace?: string | undefined;
  /** Beginning of the names of the archive's objects. @default "NAMESPACE/DEPLOYMENT" of the new deployment */
  readonly prefix?: string | undefined;
}

/**
 * A role for the pods that write and test a deployment's backup, and its EKS Pod Identity association. Only these pods
 * can use the role, and the role can use only the objects of this deployment. So deployments that share a bucket cannot read each
 * other's backups. Give `bucket` and `prefix` to the deployment's argument `backup`.
 *
 * @example
 * const access = new BackupAccess("orders", {
 *   ...{ clusterName: "production", bucket: "backups", namespace: "shop", deployment: "orders" },
 * });
 * new ValkeyCluster("orders", {
 *   ...{ namespace: "shop", shape: { primaries: 3, replicasPerPrimary: 1 }, zones: ["a", "b", "c"] },
 *   backup: { bucket: access.bucket, prefix: access.prefix, region: "us-west-2" },
 * });
 */
export class BackupAccess extends pulumi.ComponentResource {
  /** Name of the bucket. It is known when the deployment has access. */
  readonly bucket: pulumi.Output<string>;
  /** Beginning of the names of all objects of the deployment. */
  readonly prefix: pulumi.Output<string>;

  constructor(name: string, args: BackupAccessArgs, opts?: pulumi.ComponentResourceOptions) {
    super("valkey:index:BackupAccess", name, {}, opts);
    const { namespace = "default", deployment, keyArn, prefix = `${namespace}/${deployment}` } = args;
    this.bucket = grant(this, name, "backup", args, ({ partition, region }, bucket) =>
      backupRights({ partition, region, bucket, prefix, keyArn }),
    );
    this.prefix = pulumi.output(prefix);
    this.registerOutputs({ bucket: this.bucket, prefix: this.prefix });
  }
}

/**
 * A role for the pod that fills a new deployment from an archive, and its EKS Pod Identity association. Only this pod can
 * use the role, and the role can only read the objects of this archive. Give `bucket` and `prefix` to the deployment's
 * argument `restoreFrom`.
 *
 * @example
 * const access = new RestoreAccess("staging", {
 *   ...{ clusterName: "production", bucket: "backups", prefix: "shop/orders", deployment: "staging" },
 * });
 * new ValkeyReplication("staging", {
 *   ...{ replicas: 1, zones: ["a", "b"] },
 *   restoreFrom: { bucket: access.bucket, prefix: access.prefix, region: "us-west-2" },
 * });
 */
export class RestoreAccess extends pulumi.ComponentResource {
  /** Name of the bucket. It is known when the deployment has access. */
  readonly bucket: pulumi.Output<string>;
  /** Beginning of the names of the archive's objects. */
  readonly prefix: pulumi.Output<string>;

  constructor(name: string, args: RestoreAccessArgs, opts?: pulumi.ComponentResourceOptions) {
    super("valkey:index:RestoreAccess", name, {}, opts);
    const { namespace = "default", deployment, prefix = `${namespace}/${deployment}` } = args;
    this.bucket = grant(this, name, "restore", args, ({ partition }, bucket) =>
      restoreRights({ partition, bucket, prefix }),
    );
    this.prefix = pulumi.output(prefix);
    this.registerOutputs({ bucket: this.bucket, prefix: this.prefix });
  }
}

type Purpose = "backup" | "restore";

/** @returns the name of the bucket, which is known when the pods have access */
function grant(
  parent: pulumi.Resource,
  name: string,
  purpose: Purpose,
  {
    clusterName,
    bucket,
    deployment,
    namespace = "default",
  }: Pick<BackupAccessArgs, "clusterName" | "bucket" | "deployment" | "namespace">,
  rightsOn: (account: { readonly partition: string; readonly region: string }, bucket: string) => PolicyDocument,
): pulumi.Output<string> {
  const child = { parent };
  const names = objectNames(deployment);
  const serviceAccount = { backup: names.archive, restore: names.restore }[purpose];
  const role = new aws.iam.Role(
    `${name}-${purpose}`,
    {
      name: roleName(purpose, clusterName, namespace, deployment),
      description: `${{ backup: "Backup", restore: "Restore" }[purpose]} of ${namespace}/${deployment} on the EKS cluster ${clusterName}`,
      assumeRolePolicy: pulumi.jsonStringify(
        clusterArn(clusterName, parent).apply((arn) => podIdentityTrust(arn, { namespace, name: serviceAccount })),
      ),
    },
    child,
  );
  const document = pulumi
    .all([currentAccount(parent), bucket])
    .apply(([account, ofArchive]) => rightsOn(account, ofArchive));
  const rights = new aws.iam.RolePolicy(
    `${name}-${purpose}`,
    { role: role.name, policy: pulumi.jsonStringify(document) },
    child,
  );
  const { id } = new aws.eks.PodIdentityAssociation(
    `${name}-${serviceAccount}`,
    { clusterName, namespace, serviceAccount, roleArn: role.arn },
    { ...child, dependsOn: [rights] },
  );
  return pulumi.all([bucket, id]).apply(([known]) => known);
}

const LONGEST_PART = 40;

/** AWS allows 64 characters: namespace and deployment are in the description, and only their checksum in the name. */
function roleName(purpose: Purpose, clusterName: string, namespace: string, deployment: string): string {
  const unique = checksum(`${clusterName}/${namespace}/${deployment}`).slice(0, 10);
  return `${clusterName.slice(0, LONGEST_PART)}-${purpose}-${unique}`;
}
