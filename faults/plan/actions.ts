/** The actions that faults consist of. Plain data. */
import type { Shape } from "../../valkey/topology/placement";

/** One action on nodes, which are given by name. */
export type FaultAction =
  | { readonly do: "kill"; readonly nodes: readonly string[] }
  | { readonly do: "start"; readonly nodes: readonly string[]; readonly newAddresses: boolean }
  | { readonly do: "freeze" | "thaw"; readonly nodes: readonly string[] }
  | { readonly do: "cut"; readonly nodes: readonly string[] }
  | { readonly do: "heal-cut" }
  | { readonly do: "fill-disk" | "free-disk"; readonly nodes: readonly string[] }
  /** Rewrites append-only files. A write that a full disk cut short can leave zeros in such a file. */
  | { readonly do: "rewrite-aof"; readonly nodes: readonly string[] }
  /** Makes replicas take over without an election. */
  | { readonly do: "take-over"; readonly nodes: readonly string[] }
  /** Reconnects nodes whose addresses changed. */
  | { readonly do: "rejoin" }
  | { readonly do: "rolling-restart"; readonly home: string | undefined }
  | { readonly do: "resize"; readonly to: Shape };

/** The action as an imperative phrase, for progress, previews and records. */
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

const MAX_NODES_LISTED = 6;

function listNodes(nodes: readonly string[]): string {
  return nodes.length <= MAX_NODES_LISTED ? nodes.join(", ") : `${nodes.length} nodes`;
}
