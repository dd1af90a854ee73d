/** `valkey-measured/eks`: a platform on EKS, for a Pulumi program. Loads the Pulumi SDKs of AWS and EKS. */
export { EksPlatform, vcpuLimits } from "../components/eks/platform";
export type { EksPlatformArgs } from "../components/eks/platform";
export { planEks } from "../platforms/eks/plan";
export type { EksPlan, EksPlanArgs } from "../platforms/eks/plan";
export { BadInput, Failure } from "../lib/errors";
