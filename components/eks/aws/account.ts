import * as aws from "./aws-sdk";
import * as pulumi from "@pulumi/pulumi";

interface Account {
  readonly partition: string;
  readonly region: string;
  readonly accountId: string;
}

/** @param parent resource whose AWS provider is used */
export function currentAccount(parent: pulumi.Resource): pulumi.Output<Account> {
  return pulumi
    .all([
      aws.getPartitionOutput({}, { parent }),
      aws.getRegionOutput({}, { parent }),
      aws.getCallerIdentityOutput({}, { parent }),
    ])
    .apply(([{ partition }, { region }, { accountId }]) => ({ partition, region, accountId }));
}

/** It is known before the cluster exists, because the cluster's name is a plain value. */
export function clusterArn(clusterName: string, parent: pulumi.Resource): pulumi.Output<string> {
  return currentAccount(parent).apply(
    ({ partition, region, accountId }) => `arn:${partition}:eks:${region}:${accountId}:cluster/${clusterName}`,
  );
}
