/** The tier of a control plane, which the cluster component has no argument for. */
import type * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneTier } from "../../platforms/eks/offers/control-plane";

/** The resource that the component makes. */
const CLUSTER_TYPE = "aws:eks/cluster:Cluster";

/**
 * Transforms of the component's children; none for the standard mode. The engine applies them to resources that a
 * component in another process makes, since Pulumi 3.113.
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
