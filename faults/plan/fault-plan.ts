/** The plan of a fault: the actions that inject and heal it on one deployment. Plain data. */
import type { Mode } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultAction } from "./actions";
import { describeAction } from "./actions";
import type { HealTime } from "./fault";

/** Facts that a fault plan depends on: a deployment's shape, roles and settings, nodes by name. */
export interface DeploymentOutline {
  readonly mode: Mode;
  readonly shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[];
  readonly zoneOf: ReadonlyMap<string, string>;
  readonly machineOf: ReadonlyMap<string, string>;
  /** Sentinels, each with its zone: a fault of the zone strikes them as well. */
  readonly sentinelZoneOf: ReadonlyMap<string, string>;
  readonly shape: Shape;
  /** Whether a replica is promoted without this program when its primary fails. */
  readonly hasAutomaticFailover: boolean;
  /** Whether writes are on disk. */
  readonly persistent: boolean;
  /** Whether nodes that return at other addresses find each other without this program. */
  readonly rediscoversPeers: boolean;
}

export interface FaultPlan {
  /** The nodes that the fault strikes. */
  readonly victims: readonly string[];
  readonly inject: readonly FaultAction[];
  /** Performed once it is clear that the deployment does not recover by itself; empty where it should. */
  readonly assist: readonly FaultAction[];
  readonly healWhen: HealTime;
  readonly heal: readonly FaultAction[];
  /** Consequences to expect that the fault's name does not say. */
  readonly warnings: readonly string[];
}

/** The plan for a preview, one line for each action and warning. */
export function describeFaultPlan(plan: FaultPlan): string[] {
  const when = plan.healWhen === "served" ? "once all slots are served again" : `after ${plan.healWhen.seconds} s`;
  return [
    ...plan.inject.map(describeAction),
    ...plan.assist.map((action) => `if the deployment does not recover: ${describeAction(action)}`),
    ...plan.heal.map((action) => `${when}: ${describeAction(action)}`),
    ...plan.warnings.map((warning) => `expect: ${warning}`),
  ];
}
