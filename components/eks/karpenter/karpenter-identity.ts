/** The rights of Karpenter and of its machines. These rights exist before the controller's pods start. */
import * as aws from "../aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { currentAccount, clusterArn } from "../aws/account";
import { InterruptionQueue } from "./interruption-queue";
import { CONTROLLER_POLICIES, controllerPolicies } from "./karpenter-policies";
import { podIdentityTrust } from "../aws/trust-policies";
import { createNodeRole } from "../aws/node-role";

/** Namespace and service account of the controller. */
export const KARPENTER_NAMESPACE = "kube-system";
export const KARPENTER_SERVICE_ACCOUNT = "karpenter";

export interface KarpenterIdentityArgs {
  readonly clusterName: string;
  /** Whether any pool uses spot machines. */
  readonly spot: boolean;
}

/**
 * The controller's role, its Pod Identity association and its queue, and the role of the machines that it starts.
 *
 * EKS gives a pod its credentials when it admits the pod. A Pod Identity association takes effect some seconds after it
 * is created. A pod that is admitted before this moment never gets credentials, even if its containers restart. So this
 * component depends only on the control plane. The controller also waits for the system machines and add-ons, which
 * take minutes longer, so the association is in effect by then.
 */
export class KarpenterIdentity extends pulumi.ComponentResource {
  /** Name of the machines' role. */
  readonly nodeRoleName: string;
  readonly queueName: pulumi.Output<string>;

  /** Karpenter's rights. @param opts `dependsOn` must name the control plane, and no resource that is created later */
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

  /** The controller's role and its association with the service account. */
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
