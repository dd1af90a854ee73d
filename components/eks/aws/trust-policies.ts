/** Trust policies of roles. Pure. */

/** Trust policy of a role that pods of one EKS cluster assume through EKS Pod Identity. */
export function podIdentityTrust(clusterArn: string): object {
  return {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: "pods.eks.amazonaws.com" },
        Action: ["sts:AssumeRole", "sts:TagSession"],
        Condition: { StringEquals: { "aws:RequestTag/eks-cluster-arn": clusterArn } },
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
