/** The plan of a fault: the actions that inject and heal it on one deployment. */
import type { Mode } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";

const MAX_NODES_LISTED = 6;

export interface DeploymentOutline {
  readonly mode: Mode;
  readonly shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[];
  readonly zoneOf: ReadonlyMap<string, string>;
  readonly machineOf: ReadonlyMap<string, string>;
  /** A fault that strikes a zone also strikes the Sentinels in this zone. */
  readonly sentinelZoneOf: ReadonlyMap<string, string>;
  readonly shape: Shape;
  /** Whether nodes promote a replica themselves; otherwise this program must promote it. */
  readonly hasAutomaticFailover: boolean;
  /** Whether the servers write their data to disk. */
  readonly persistent: boolean;
  readonly rediscoversPeers: boolean;
}

/** `served`: when all slots are served again, or after a time limit and an assisting action. */
export interface FaultPlan {
  readonly victims: readonly string[];
  readonly inject: readonly FaultAction[];
  /** Actions that assist a deployment that clearly does not recover by itself. */
  readonly assist: readonly FaultAction[];
  readonly healWhen: "served" | { readonly seconds: number };
  readonly heal: readonly FaultAction[];
  /** Expected consequences that the name of the fault does not show. */
  readonly warnings: readonly string[];
}

export function describeFaultPlan(plan: FaultPlan): string[] {
  const when = plan.healWhen === "served" ? "when all slots are served again" : `after ${plan.healWhen.seconds} s`;
  return [
    ...plan.inject.map(describeAction),
    ...plan.assist.map((action) => `if the deployment does not recover: ${describeAction(action)}`),
    ...plan.heal.map((action) => `${when}: ${describeAction(action)}`),
    ...plan.warnings.map((warning) => `expect: ${warning}`),
  ];
}

export type FaultAction =
  | { readonly do: "kill"; readonly nodes: readonly string[] }
  | { readonly do: "start"; readonly nodes: readonly string[]; readonly newAddresses: boolean }
  | { readonly do: "freeze" | "thaw"; readonly nodes: readonly string[] }
  | { readonly do: "cut"; readonly nodes: readonly string[] }
  | { readonly do: "heal-cut" }
  | { readonly do: "fill-disk" | "free-disk"; readonly nodes: readonly string[] }
  /** A write that a full disk cut short can leave zeros in such a file. */
  | { readonly do: "rewrite-aof"; readonly nodes: readonly string[] }
  /** Makes replicas take over without an election. */
  | { readonly do: "take-over"; readonly nodes: readonly string[] }
  /** Reconnects nodes whose addresses changed. */
  | { readonly do: "rejoin" }
  | { readonly do: "rolling-restart"; readonly home: string | undefined }
  | { readonly do: "resize"; readonly to: Shape };

export function describeAction(action: FaultAction): string {
  switch (action.do) {
    case "kill":
      return `SIGKILL ${listNodes(action.nodes)}`;
    case "start":
      return `start ${listNodes(action.nodes)} again${action.newAddresses ? " at new addresses" : ""}`;
    case "freeze":
      return `SIGSTOP ${listNodes(action.nodes)}`;
    case "thaw":
      return `SIGCONT ${listNodes(action.nodes)}`;
    case "cut":
      return `cut ${listNodes(action.nodes)} off from the other nodes`;
    case "heal-cut":
      return "restore the network";
    case "fill-disk":
      return `fill the disk of ${listNodes(action.nodes)}`;
    case "free-disk":
      return `free the disk of ${listNodes(action.nodes)}`;
    case "rewrite-aof":
      return `rewrite the append-only file of ${listNodes(action.nodes)}`;
    case "take-over":
      return `tell ${listNodes(action.nodes)} to take over`;
    case "rejoin":
      return "let all nodes meet again";
    case "rolling-restart": {
      const programs = action.home === undefined ? "" : ` with the programs in ${action.home}`;
      return `restart every node in turn${programs}`;
    }
    case "resize":
      return `resize to ${action.to.primaries} primaries with ${action.to.replicasPerPrimary} replicas each`;
  }
}

function listNodes(nodes: readonly string[]): string {
  return nodes.length <= MAX_NODES_LISTED ? nodes.join(", ") : `${nodes.length} nodes`;
}
