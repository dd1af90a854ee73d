/** Karpenter: the controller that starts and stops machines for pods, and what it may do. */
import * as aws from "../aws-sdk";
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { currentAccount, clusterArn } from "../account";
import { InterruptionQueue } from "./interruption-queue";
import { CONTROLLER_POLICIES, controllerPolicies, podIdentityTrust } from "./karpenter-policies";
import { createNodeRole } from "../system-nodes";
import type { EksVersions } from "../versions";

export interface KarpenterArgs {
  readonly clusterName: string;
  readonly versions: Pick<EksVersions, "karpenter">;
}

/** Namespace and service account of the controller. */
export const KARPENTER_NAMESPACE = "kube-system";
export const KARPENTER_SERVICE_ACCOUNT = "karpenter";

const CHARTS = "oci://public.ecr.aws/karpenter";

/**
 * Deleted in reverse order: controller, definitions, rights, queue, role of the machines. Resources with machines
 * depend on this component, so that the controller outlives the last machine.
 */
export class Karpenter extends pulumi.ComponentResource {
  /** Name of the machines' role. */
  readonly nodeRoleName: string;

  /** @param opts `provider` of the cluster; `dependsOn` the system machines, CoreDNS and the Pod Identity agent */
  constructor(name: string, { clusterName, versions }: KarpenterArgs, opts: pulumi.ComponentResourceOptions) {
    const definitions = { chart: `${CHARTS}/karpenter-crd`, version: versions.karpenter };
    const controller = { chart: `${CHARTS}/karpenter`, version: versions.karpenter };
    // Policies do not see the inputs of a chart, so the charts are inputs of this component.
    super("valkey:eks:Karpenter", name, { charts: [definitions, controller] }, opts);
    this.nodeRoleName = `${clusterName}-karpenter-node`;
    const node = createNodeRole(`${name}-karpenter`, this.nodeRoleName, this);
    const entry = new aws.eks.AccessEntry(
      `${name}-karpenter-nodes`,
      { clusterName, principalArn: node.role.arn, type: "EC2_LINUX" },
      { parent: this },
    );
    const interruption = new InterruptionQueue(name, { clusterName }, { parent: this });
    const rights = this.controllerRights(name, clusterName, node.role, interruption);

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
          replicas: 2,
          serviceAccount: { create: true, name: KARPENTER_SERVICE_ACCOUNT },
          settings: { clusterName, interruptionQueue: interruption.queueName, eksControlPlane: true },
          controller: { resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { memory: "1Gi" } } },
        },
      },
      { parent: this, dependsOn: [crds, entry, interruption, ...node.policies, ...rights] },
    );
    this.registerOutputs({ nodeRoleName: this.nodeRoleName });
  }

  /**
   * The controller's role and its association with the service account.
   * @returns resources that the controller needs
   */
  private controllerRights(
    name: string,
    clusterName: string,
    nodeRoleOfMachines: aws.iam.Role,
    interruption: InterruptionQueue,
  ): pulumi.Resource[] {
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
      .apply(([where, nodeRoleArn, queueArn]) => controllerPolicies({ ...where, clusterName, nodeRoleArn, queueArn }));
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
    const association = new aws.eks.PodIdentityAssociation(
      `${name}-karpenter`,
      { clusterName, namespace: KARPENTER_NAMESPACE, serviceAccount: KARPENTER_SERVICE_ACCOUNT, roleArn: role.arn },
      { parent: this, dependsOn: attachments },
    );
    return [...attachments, association];
  }
}
