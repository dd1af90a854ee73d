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

/** Where the controller runs, and as whom. */
export const KARPENTER_NAMESPACE = "kube-system";
export const KARPENTER_SERVICE_ACCOUNT = "karpenter";

const CHARTS = "oci://public.ecr.aws/karpenter";

/**
 * Destroyed from the last to the first: controller, definitions, rights, queue, the machines' role. Whatever has machines
 * is to depend on this, so that there is a controller until the last machine is gone.
 */
export class Karpenter extends pulumi.ComponentResource {
  /** Name of the role of its machines. */
  readonly nodeRoleName: string;

  /** @param opts `provider` of the cluster; `dependsOn` what its pods need: system machines, CoreDNS, the Pod Identity agent */
  constructor(name: string, { clusterName, versions }: KarpenterArgs, opts: pulumi.ComponentResourceOptions) {
    const definitions = { chart: `${CHARTS}/karpenter-crd`, version: versions.karpenter };
    const controller = { chart: `${CHARTS}/karpenter`, version: versions.karpenter };
    // Of charts themselves the engine is told nothing, and policies see what it is told.
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

  /** The controller's role, bound to its service account of this cluster. @returns what the controller cannot work without */
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
