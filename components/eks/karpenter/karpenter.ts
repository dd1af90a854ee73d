/** Karpenter: the controller that starts and stops machines for pods, with its rights and its queue. */
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { type ControllerSize, KARPENTER_REPLICAS } from "../../../platforms/eks/scale/system-machines";
import type { EksVersions } from "../aws/versions";
import * as aws from "../aws/aws-sdk";
import { currentAccount, clusterArn } from "../aws/account";
import { CONTROLLER_POLICIES, controllerPolicies, queuePolicy } from "./karpenter-policies";
import { createNodeRole, podIdentityTrust } from "../aws/roles";

const INTERRUPTION_EVENTS = {
  "scheduled-change": { source: "aws.health", "detail-type": "AWS Health Event" },
  "spot-interruption": { source: "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning" },
  rebalance: { source: "aws.ec2", "detail-type": "EC2 Instance Rebalance Recommendation" },
  "state-change": { source: "aws.ec2", "detail-type": "EC2 Instance State-change Notification" },
  "capacity-reservation": {
    source: "aws.ec2",
    "detail-type": "EC2 Capacity Reservation Instance Interruption Warning",
  },
} as const satisfies Readonly<Record<string, { readonly source: string; readonly "detail-type": string }>>;

/** The machine of an older message no longer exists. */
const RETENTION_SECONDS = 300;

const KARPENTER_NAMESPACE = "kube-system";
const KARPENTER_SERVICE_ACCOUNT = "karpenter";

interface KarpenterArgs {
  readonly clusterName: string;
  readonly region: string;
  /** They exist before the controller's pods start. */
  readonly identity: KarpenterIdentity;
  readonly versions: Pick<EksVersions, "karpenter">;
  readonly size: ControllerSize;
}

const CHARTS = "oci://public.ecr.aws/karpenter";

/**
 * Pulumi deletes the controller, then the CRDs, then its rights. Resources whose machines Karpenter starts must depend
 * on this, so that the controller outlives the last machine.
 */
export class Karpenter extends pulumi.ComponentResource {
  /** @param opts `dependsOn` names the system machines, CoreDNS and the Pod Identity agent */
  constructor(
    name: string,
    { clusterName, region, identity, versions, size }: KarpenterArgs,
    opts: pulumi.ComponentResourceOptions,
  ) {
    const definitions = { chart: `${CHARTS}/karpenter-crd`, version: versions.karpenter };
    const controller = { chart: `${CHARTS}/karpenter`, version: versions.karpenter };
    // Pulumi policies do not see the inputs of a chart, so the charts are also inputs of this component.
    super("valkey:eks:Karpenter", name, { charts: [definitions, controller] }, opts);

    const crds = new k8s.helmV4.Chart(
      `${name}-karpenter-crd`,
      { name: "karpenter-crd", ...definitions, namespace: KARPENTER_NAMESPACE },
      { parent: this },
    );
    new k8s.helmV4.Chart(
      `${name}-karpenter`,
      {
        name: "karpenter",
        ...controller,
        namespace: KARPENTER_NAMESPACE,
        skipCrds: true,
        values: {
          replicas: KARPENTER_REPLICAS,
          serviceAccount: { create: true, name: KARPENTER_SERVICE_ACCOUNT },
          settings: { clusterName, interruptionQueue: identity.queueName, eksControlPlane: true },
          controller: {
            // Without this variable the controller asks the machine's metadata service, which pods cannot reach: its
            // hop limit is 1.
            env: [{ name: "AWS_REGION", value: region }],
            resources: resourcesOf(size),
          },
        },
      },
      { parent: this, dependsOn: [crds, identity] },
    );
    this.registerOutputs({});
  }
}

function resourcesOf({ cpuMilli, memoryMiB }: ControllerSize): object {
  const memory = `${memoryMiB}Mi`;
  return { requests: { cpu: `${cpuMilli}m`, memory }, limits: { memory } };
}

interface KarpenterIdentityArgs {
  readonly clusterName: string;
  readonly spot: boolean;
}

/**
 * A pod that is admitted before its Pod Identity association takes effect never gets credentials. So this depends only
 * on the control plane, while the controller also waits for system machines and add-ons, which take minutes longer.
 */
export class KarpenterIdentity extends pulumi.ComponentResource {
  readonly nodeRoleName: string;
  readonly queueName: pulumi.Output<string>;

  /** @param opts `dependsOn` must name the control plane, and no resource that is created later */
  constructor(name: string, { clusterName, spot }: KarpenterIdentityArgs, opts: pulumi.ComponentResourceOptions) {
    super("valkey:eks:KarpenterIdentity", name, {}, opts);
    this.nodeRoleName = `${clusterName}-karpenter-node`;
    const node = createNodeRole(`${name}-karpenter`, this.nodeRoleName, this);
    new aws.eks.AccessEntry(
      `${name}-karpenter-nodes`,
      { clusterName, principalArn: node.role.arn, type: "EC2_LINUX" },
      { parent: this },
    );
    const interruption = new InterruptionQueue(name, { clusterName }, { parent: this });
    this.queueName = interruption.queueName;
    this.controllerRights(name, { clusterName, spot }, node.role, interruption);
    this.registerOutputs({ nodeRoleName: this.nodeRoleName });
  }

  private controllerRights(
    name: string,
    { clusterName, spot }: KarpenterIdentityArgs,
    nodeRoleOfMachines: aws.iam.Role,
    interruption: InterruptionQueue,
  ): void {
    const role = new aws.iam.Role(
      `${name}-karpenter`,
      {
        name: `${clusterName}-karpenter`,
        assumeRolePolicy: pulumi.jsonStringify(clusterArn(clusterName, this).apply(podIdentityTrust)),
      },
      { parent: this },
    );
    const documents = pulumi
      .all([currentAccount(this), nodeRoleOfMachines.arn, interruption.queueArn])
      .apply(([where, nodeRoleArn, queueArn]) =>
        controllerPolicies({ ...where, clusterName, nodeRoleArn, queueArn, spot }),
      );
    const attachments = CONTROLLER_POLICIES.map((which) => {
      const policy = new aws.iam.Policy(
        `${name}-karpenter-${which}`,
        {
          name: `${clusterName}-karpenter-${which}`,
          policy: pulumi.jsonStringify(documents.apply((all) => all[which])),
        },
        { parent: this },
      );
      return new aws.iam.RolePolicyAttachment(
        `${name}-karpenter-${which}`,
        { role: role.name, policyArn: policy.arn },
        { parent: this },
      );
    });
    new aws.eks.PodIdentityAssociation(
      `${name}-karpenter`,
      { clusterName, namespace: KARPENTER_NAMESPACE, serviceAccount: KARPENTER_SERVICE_ACCOUNT, roleArn: role.arn },
      { parent: this, dependsOn: attachments },
    );
  }
}

/** The queue from which Karpenter learns that AWS will soon stop or reclaim a machine. It has the cluster's name. */
class InterruptionQueue extends pulumi.ComponentResource {
  readonly queueName: pulumi.Output<string>;
  readonly queueArn: pulumi.Output<string>;

  constructor(name: string, { clusterName }: { readonly clusterName: string }, opts?: pulumi.ComponentResourceOptions) {
    super("valkey:eks:Interruption", name, {}, opts);
    const queue = new aws.sqs.Queue(
      `${name}-interruption`,
      { name: clusterName, messageRetentionSeconds: RETENTION_SECONDS, sqsManagedSseEnabled: true },
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
