/** The IAM role of machines. */
import type * as pulumi from "@pulumi/pulumi";
import * as aws from "./aws-sdk";
import { serviceTrust } from "./trust-policies";

/** Rights of every machine: join the cluster, run the CNI, pull images, accept Session Manager. */
export const NODE_POLICIES = [
  "AmazonEKSWorkerNodePolicy",
  "AmazonEKS_CNI_Policy",
  "AmazonEC2ContainerRegistryPullOnly",
  "AmazonSSMManagedInstanceCore",
] as const;

/** Creates a role for one group of machines. @param roleName name in AWS, at most 64 characters */
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
