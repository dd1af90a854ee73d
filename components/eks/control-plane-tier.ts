/**
 * The tier of a control plane. The cluster component of `@pulumi/eks` has no argument for the tier, so transforms set
 * it.
 */
import type * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneTier } from "../../platforms/eks/offers/control-plane";

/** Type of the resource that has the tier. The resource is a child of the cluster component. */
const CLUSTER_TYPE = "aws:eks/cluster:Cluster";

/**
 * Transforms that set the tier on the children of the cluster component. The list is empty for the standard tier. Since
 * version 3.113 Pulumi applies transforms also to resources that a component in another process creates.
 */
export function tierTransforms(tier: ControlPlaneTier): pulumi.ResourceTransform[] {
  if (tier === "standard") return [];
  return [
    ({ type, props, opts }) =>
      type === CLUSTER_TYPE
        ? { props: { ...(props as object), controlPlaneScalingConfig: { tier } }, opts }
        : undefined,
  ];
}
