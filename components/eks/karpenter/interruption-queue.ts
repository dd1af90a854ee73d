/** The queue from which Karpenter learns that AWS will soon stop or reclaim a machine. */
import * as aws from "../aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { queuePolicy } from "./karpenter-policies";

/** Events that EventBridge forwards, by rule name. */
export const INTERRUPTION_EVENTS = {
  "scheduled-change": { source: "aws.health", "detail-type": "AWS Health Event" },
  "spot-interruption": { source: "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning" },
  rebalance: { source: "aws.ec2", "detail-type": "EC2 Instance Rebalance Recommendation" },
  "state-change": { source: "aws.ec2", "detail-type": "EC2 Instance State-change Notification" },
  "capacity-reservation": {
    source: "aws.ec2",
    "detail-type": "EC2 Capacity Reservation Instance Interruption Warning",
  },
} as const satisfies Readonly<Record<string, { readonly source: string; readonly "detail-type": string }>>;

/** Retention of a message, seconds. The machine of an older message no longer exists. */
const RETENTION = 300;

/** A queue with the cluster's name, and the EventBridge rules that write to it. */
export class InterruptionQueue extends pulumi.ComponentResource {
  readonly queueName: pulumi.Output<string>;
  readonly queueArn: pulumi.Output<string>;

  constructor(name: string, { clusterName }: { readonly clusterName: string }, opts?: pulumi.ComponentResourceOptions) {
    super("valkey:eks:Interruption", name, {}, opts);
    const queue = new aws.sqs.Queue(
      `${name}-interruption`,
      { name: clusterName, messageRetentionSeconds: RETENTION, sqsManagedSseEnabled: true },
      { parent: this },
    );
    const rules = Object.entries(INTERRUPTION_EVENTS).map(([what, { source, "detail-type": type }]) => {
      const rule = new aws.cloudwatch.EventRule(
        `${name}-${what}`,
        { name: `${clusterName}-${what}`, eventPattern: JSON.stringify({ source: [source], "detail-type": [type] }) },
        { parent: this },
      );
      new aws.cloudwatch.EventTarget(
        `${name}-${what}`,
        { rule: rule.name, targetId: "KarpenterInterruptionQueueTarget", arn: queue.arn },
        { parent: this },
      );
      return rule;
    });
    new aws.sqs.QueuePolicy(
      `${name}-interruption`,
      {
        queueUrl: queue.url,
        policy: pulumi.jsonStringify(
          pulumi
            .all([queue.arn, pulumi.all(rules.map((rule) => rule.arn))])
            .apply(([arn, ruleArns]) => queuePolicy(arn, ruleArns)),
        ),
      },
      { parent: this },
    );
    this.queueName = queue.name;
    this.queueArn = queue.arn;
    this.registerOutputs({ queueName: this.queueName });
  }
}
