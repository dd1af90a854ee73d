/** Access of one deployment on an EKS cluster to its part of a bucket for backups, by EKS Pod Identity. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { checksum } from "../../lib/checksum";
import { objectNames } from "../kubernetes/names";
import { clusterArn, currentAccount } from "./aws/account";
import { podIdentityTrust } from "./aws/trust-policies";
import { backupRights } from "./backup-policies";

/** Arguments of a deployment's access to a bucket. */
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

/** Service accounts of a deployment whose pods use the bucket. Each of them gets the access. */
function serviceAccounts(deployment: string): readonly string[] {
  const { archive, restore } = objectNames(deployment);
  return [archive, restore];
}

/**
 * A role for the pods that write and restore a deployment's backup, and its EKS Pod Identity associations. Only these
 * pods can use the role, and the role can use only the objects of this deployment. So deployments that share a bucket cannot read each
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
    const { clusterName, deployment, namespace = "default", keyArn } = args;
    const { prefix = `${namespace}/${deployment}` } = args;
    const accounts = serviceAccounts(deployment);
    super("valkey:index:BackupAccess", name, {}, opts);
    const child = { parent: this };
    const role = new aws.iam.Role(
      `${name}-backup`,
      {
        name: roleName(clusterName, namespace, deployment),
        description: `Backup of ${namespace}/${deployment} on the EKS cluster ${clusterName}`,
        assumeRolePolicy: pulumi.jsonStringify(
          clusterArn(clusterName, this).apply((arn) => podIdentityTrust(arn, { namespace, names: accounts })),
        ),
      },
      child,
    );
    const document = pulumi
      .all([currentAccount(this), args.bucket])
      .apply(([{ partition, region }, bucket]) => backupRights({ partition, region, bucket, prefix, keyArn }));
    const rights = new aws.iam.RolePolicy(
      `${name}-backup`,
      { role: role.name, policy: pulumi.jsonStringify(document) },
      child,
    );
    const associations = accounts.map(
      (serviceAccount) =>
        new aws.eks.PodIdentityAssociation(
          `${name}-${serviceAccount}`,
          { clusterName, namespace, serviceAccount, roleArn: role.arn },
          { ...child, dependsOn: [rights] },
        ),
    );
    this.bucket = pulumi.all([args.bucket, pulumi.all(associations.map(({ id }) => id))]).apply(([bucket]) => bucket);
    this.prefix = pulumi.output(prefix);
    this.registerOutputs({ bucket: this.bucket, prefix: this.prefix });
  }
}

/** Longest part of a cluster's name in the name of a role, characters. */
const LONGEST_PART = 40;

/**
 * Name of the role, which is unique in the account. AWS allows 64 characters, so the namespace and the deployment are
 * in the description, and only a checksum of them is in the name.
 */
function roleName(clusterName: string, namespace: string, deployment: string): string {
  const unique = checksum(`${clusterName}/${namespace}/${deployment}`).slice(0, 10);
  return `${clusterName.slice(0, LONGEST_PART)}-backup-${unique}`;
}
