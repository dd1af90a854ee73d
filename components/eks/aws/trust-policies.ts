/** Trust policies of roles. Pure. */

/** Service accounts of one namespace. */
export interface ServiceAccounts {
  readonly namespace: string;
  readonly names: readonly string[];
}

/**
 * Trust policy of a role that pods of one EKS cluster assume through EKS Pod Identity.
 * @param accounts service accounts whose pods may assume the role. @default every service account with an association
 */
export function podIdentityTrust(clusterArn: string, accounts?: ServiceAccounts): object {
  const owners = accounts && {
    "aws:RequestTag/kubernetes-namespace": accounts.namespace,
    "aws:RequestTag/kubernetes-service-account": accounts.names,
  };
  return {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: "pods.eks.amazonaws.com" },
        Action: ["sts:AssumeRole", "sts:TagSession"],
        Condition: { StringEquals: { "aws:RequestTag/eks-cluster-arn": clusterArn, ...owners } },
      },
    ],
  };
}

/** Trust policy of a role that EC2 or EKS assumes. */
export function serviceTrust(service: "ec2.amazonaws.com" | "eks.amazonaws.com"): object {
  return {
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: { Service: service }, Action: ["sts:AssumeRole"] }],
  };
}
