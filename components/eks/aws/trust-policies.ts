/** Trust policies of roles. Pure. */

/** A service account of a namespace. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Trust policy of a role that pods of one EKS cluster assume through EKS Pod Identity.
 * @param account service account whose pods may assume the role. @default every service account with an association
 */
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

/** Trust policy of a role that EC2 or EKS assumes. */
export function serviceTrust(service: "ec2.amazonaws.com" | "eks.amazonaws.com"): object {
  return {
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: { Service: service }, Action: ["sts:AssumeRole"] }],
  };
}
