/** Logs of a network's connections. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";

export interface FlowLogsArgs {
  readonly vpcId: pulumi.Input<string>;
  /** Retention of the logs, days. @default 7 */
  readonly retentionInDays?: number | undefined;
}

/**
 * Logs of accepted and refused connections, in a log group that is deleted with the network. AWS charges by log volume.
 */
export class FlowLogs extends pulumi.ComponentResource {
  constructor(name: string, { vpcId, retentionInDays = 7 }: FlowLogsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("valkey:eks:FlowLogs", name, {}, opts);
    const child = { parent: this };
    const group = new aws.cloudwatch.LogGroup(
      `${name}-flow-logs`,
      { name: `/valkey/${name}/flow-logs`, retentionInDays },
      child,
    );
    const role = new aws.iam.Role(
      `${name}-flow-logs`,
      {
        name: `${name}-flow-logs`,
        assumeRolePolicy: JSON.stringify({
          Version: "2012-10-17",
          Statement: [
            { Effect: "Allow", Principal: { Service: "vpc-flow-logs.amazonaws.com" }, Action: "sts:AssumeRole" },
          ],
        }),
      },
      child,
    );
    const policy = new aws.iam.RolePolicy(
      `${name}-flow-logs`,
      {
        role: role.name,
        policy: pulumi.jsonStringify({
          Version: "2012-10-17",
          Statement: [
            {
              Effect: "Allow",
              Action: ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
              Resource: pulumi.interpolate`${group.arn}:*`,
            },
          ],
        }),
      },
      child,
    );
    new aws.ec2.FlowLog(
      `${name}-flow-logs`,
      {
        vpcId,
        trafficType: "ALL",
        logDestinationType: "cloud-watch-logs",
        logDestination: group.arn,
        iamRoleArn: role.arn,
        tags: { Name: name },
      },
      { ...child, dependsOn: [policy] },
    );
    this.registerOutputs({});
  }
}
