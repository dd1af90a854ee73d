/**
 * The log group of a control plane. EKS writes to it until some minutes after the cluster is deleted, and its service
 * role makes the group again where it is gone, without a retention. So the group outlives the stack with its retention,
 * and the next cluster of the name takes it over.
 */
import * as aws from "./aws/aws-sdk";
import type * as pulumi from "@pulumi/pulumi";

export const CONTROL_PLANE_LOG_TYPES = ["api", "audit", "authenticator", "controllerManager", "scheduler"] as const;

/** The name that EKS gives. */
export function logGroupName(clusterName: string): string {
  return `/aws/eks/${clusterName}/cluster`;
}

export interface LogGroupArgs {
  readonly clusterName: string;
  /** Days. */
  readonly retentionInDays: number;
  /** Whether the group of an earlier cluster is taken over. Its retention and tags become those of this one. */
  readonly takenOver: boolean;
}

/** The group has to be there before the cluster: EKS would make one without retention. */
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

/** Whether the log group of an earlier cluster is there, and no cluster of that name. Asks AWS. */
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
