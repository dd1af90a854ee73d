/** Pinned versions of EKS, Karpenter and the add-ons, so that a later run creates the same machines. */

/** Versions that are tested together; change them together. */
export interface EksVersions {
  /** Kubernetes version of the control plane and the machines, such as `1.35`. */
  readonly kubernetes: string;
  /** Release of Amazon's AL2023 image, such as `20260714`, for the system machines and for every pool. */
  readonly machineImage: string;
  /**
   * Version of the kubelet in the release `machineImage`. AWS identifies the release of a node group by
   * `KUBELET-MACHINEIMAGE`.
   */
  readonly kubelet: string;
  readonly vpcCni: string;
  readonly kubeProxy: string;
  readonly coredns: string;
  readonly podIdentityAgent: string;
  readonly ebsCsi: string;
  /** Version of the charts karpenter-crd and karpenter, and of the controller's policies. */
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
