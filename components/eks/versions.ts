/** Versions of everything that EKS and Karpenter bring, pinned, so that a later run makes the same machines. */

/** What goes together; change them together. */
export interface EksVersions {
  /** Of the control plane and the machines, such as `1.35`. */
  readonly kubernetes: string;
  /** Release of Amazon's AL2023 image, such as `20260714`: of the system machines and of every pool. */
  readonly machineImage: string;
  /** Patch level of the kubelet in that release; the system machines' release is named by both. */
  readonly kubelet: string;
  readonly vpcCni: string;
  readonly kubeProxy: string;
  readonly coredns: string;
  readonly podIdentityAgent: string;
  readonly ebsCsi: string;
  /** Of the charts karpenter-crd and karpenter, and of the policies that the controller's role has. */
  readonly karpenter: string;
}

export const EKS_VERSIONS: EksVersions = {
  kubernetes: "1.35",
  machineImage: "20260714",
  kubelet: "1.35.6",
  vpcCni: "v1.22.3-eksbuild.1",
  kubeProxy: "v1.35.3-eksbuild.17",
  coredns: "v1.13.2-eksbuild.11",
  podIdentityAgent: "v1.3.10-eksbuild.3",
  ebsCsi: "v1.63.1-eksbuild.1",
  karpenter: "1.14.1",
};
