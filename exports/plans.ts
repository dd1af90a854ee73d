/**
 * `valkey-measured/plans`: the resources that a stack would create, its cost, and the zones of a deployment's nodes, as
 * plain data. It needs no access to a cloud or to a Kubernetes cluster.
 */
export { parseConfig } from "../stacks/config/parse";
export type { StackConfig } from "../stacks/config/schema/stack";
export type { MachineFacts } from "../stacks/config/validation/types";
export { parseStackFile, readStackFile, stackNames } from "../stacks/config/sections/stack-file";
export { STACKS_DIRECTORY } from "../stacks/config/sections/paths";
export { describePlan } from "../stacks/plan/describe";
export { planStack } from "../stacks/plan/stack-plan";
export type { DeploymentPlan, StackPlan } from "../stacks/plan/stack-plan-types";
export { planEks } from "../platforms/eks/plan";
export type { EksPlan, EksPlanArgs } from "../platforms/eks/plan";
export { planCluster, PlanError } from "../valkey/topology/cluster-plan";
export type { ClusterPlan, ShardPlan } from "../valkey/topology/cluster-plan";
export { nodeCount, rotateOverZones, spreadOverZones } from "../valkey/topology/placement";
export type { PlacedNode, Shape } from "../valkey/topology/placement";
export { BadInput } from "../lib/errors";
