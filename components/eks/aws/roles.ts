import type * as pulumi from "@pulumi/pulumi";
import * as aws from "./aws-sdk";

const NODE_POLICIES = [
  "AmazonEKSWorkerNodePolicy",
  "AmazonEKS_CNI_Policy",
  "AmazonEC2ContainerRegistryPullOnly",
  "AmazonSSMManagedInstanceCore",
] as const;

/** @param roleName name in AWS, at most 64 characters */
export function createNodeRole(
  name: string,
  roleName: string,
  parent: pulumi.Resource,
): { readonly role: aws.iam.Role; readonly policies: pulumi.Resource[] } {
  const role = new aws.iam.Role(
    `${name}-node`,
    { name: roleName, assumeRolePolicy: JSON.stringify(serviceTrust("ec2.amazonaws.com")) },
    { parent },
  );
  const policies = NODE_POLICIES.map(
    (policy) =>
      new aws.iam.RolePolicyAttachment(
        `${name}-node-${policy}`,
        { role: role.name, policyArn: `arn:aws:iam::aws:policy/${policy}` },
        { parent },
      ),
  );
  return { role, policies };
}

interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** @param account whose pods may assume the role. @default every service account with an association */
export function podIdentityTrust(clusterArn: string, account?: ServiceAccount): object {
  const owner = account && {
    "aws:RequestTag/kubernetes-namespace": account.namespace,
    "aws:RequestTag/kubernetes-service-account": account.name,
  };
  return {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: "pods.eks.amazonaws.com" },
        Action: ["sts:AssumeRole", "sts:TagSession"],
        Condition: { StringEquals: { "aws:RequestTag/eks-cluster-arn": clusterArn, ...owner } },
      },
    ],
  };
}

function serviceTrust(service: "ec2.amazonaws.com" | "eks.amazonaws.com"): object {
  return {
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: { Service: service }, Action: ["sts:AssumeRole"] }],
  };
}
