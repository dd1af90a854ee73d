/** The plan of a fault: the actions that inject and heal it on one deployment. Plain data. */
import type { Mode } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultAction } from "./actions";
import { describeAction } from "./actions";
import type { HealTime } from "./fault";

/** Facts about a deployment on which a fault plan depends: shape, roles and settings. Nodes are given by name. */
export interface DeploymentOutline {
  readonly mode: Mode;
  readonly shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[];
  readonly zoneOf: ReadonlyMap<string, string>;
  readonly machineOf: ReadonlyMap<string, string>;
  /** Zones of the Sentinels, by Sentinel name. A fault that strikes a zone also strikes the Sentinels in this zone. */
  readonly sentinelZoneOf: ReadonlyMap<string, string>;
  readonly shape: Shape;
  /**
   * Whether Sentinels or the cluster promote a replica when its primary fails. If not, this program must promote it.
   */
  readonly hasAutomaticFailover: boolean;
  /** Whether the servers write their data to disk. */
  readonly persistent: boolean;
  /** Whether nodes that return with different addresses find each other by themselves. */
  readonly rediscoversPeers: boolean;
}

export interface FaultPlan {
  /** The nodes that the fault strikes. */
  readonly victims: readonly string[];
  readonly inject: readonly FaultAction[];
  /**
   * Actions that assist a deployment that clearly does not recover by itself; empty if the deployment should recover by
   * itself.
   */
  readonly assist: readonly FaultAction[];
  readonly healWhen: HealTime;
  readonly heal: readonly FaultAction[];
  /** Expected consequences that the name of the fault does not show. */
  readonly warnings: readonly string[];
}

/** The plan as text for a preview, one line for each action and warning. */
export function describeFaultPlan(plan: FaultPlan): string[] {
  const when = plan.healWhen === "served" ? "when all slots are served again" : `after ${plan.healWhen.seconds} s`;
  return [
    ...plan.inject.map(describeAction),
    ...plan.assist.map((action) => `if the deployment does not recover: ${describeAction(action)}`),
    ...plan.heal.map((action) => `${when}: ${describeAction(action)}`),
    ...plan.warnings.map((warning) => `expect: ${warning}`),
  ];
}
