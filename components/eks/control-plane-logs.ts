/**
 * EKS writes logs until some minutes after the cluster is deleted, and creates a missing group again, without a
 * retention. So the stack never deletes the group, and the next cluster with the same name takes it over.
 */
import * as aws from "./aws/aws-sdk";
import type * as pulumi from "@pulumi/pulumi";

export const CONTROL_PLANE_LOG_TYPES = ["api", "audit", "authenticator", "controllerManager", "scheduler"] as const;

/** Name that EKS gives to the log group of a cluster. */
function logGroupName(clusterName: string): string {
  return `/aws/eks/${clusterName}/cluster`;
}

interface LogGroupArgs {
  readonly clusterName: string;
  readonly retentionInDays: number;
  /** If so, the log group of an earlier cluster gets the retention and the tags of this stack. */
  readonly takenOver: boolean;
}

/** It must exist before the cluster, because EKS would create a missing one without a retention. */
export function createLogGroup(
  name: string,
  { clusterName, retentionInDays, takenOver }: LogGroupArgs,
  parent: pulumi.Resource,
): aws.cloudwatch.LogGroup {
  const groupName = logGroupName(clusterName);
  return new aws.cloudwatch.LogGroup(
    `${name}-control-plane`,
    { name: groupName, retentionInDays },
    { parent, retainOnDelete: true, ...(takenOver && { import: groupName }) },
  );
}

/** Whether the log group of a cluster exists although the cluster does not exist. This function asks AWS. */
export async function hasLeftoverLogGroup(
  clusterName: string,
  opts?: { readonly provider: aws.Provider },
): Promise<boolean> {
  const name = logGroupName(clusterName);
  const [clusters, groups] = await Promise.all([
    aws.eks.getClusters({}, opts),
    aws.cloudwatch.getLogGroups({ logGroupNamePrefix: name }, opts),
  ]);
  return groups.logGroupNames.includes(name) && !clusters.names.includes(clusterName);
}
