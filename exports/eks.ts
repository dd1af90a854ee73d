/**
 * `valkey-measured/eks`: a platform on EKS, or pools on an existing EKS cluster, for a Pulumi program. It loads the
 * Pulumi SDKs of AWS and EKS.
 */
export { BackupAccess, RestoreAccess } from "../components/eks/backup-access";
export type { BackupAccessArgs, RestoreAccessArgs } from "../components/eks/backup-access";
export { EksPlatform } from "../components/eks/platform";
export type { EksPlatformArgs } from "../components/eks/platform-args";
export { KarpenterPools } from "../components/eks/karpenter/karpenter-pools";
export type { KarpenterPoolsArgs } from "../components/eks/karpenter/karpenter-pools";
export { planEks } from "../platforms/eks/plan";
export type { EksPlan, EksPlanArgs } from "../platforms/eks/plan";
export { machineSetSelector, poolSelector, poolToleration } from "../platforms/eks/pools/pools";
export { BadInput, Failure } from "../lib/errors";
