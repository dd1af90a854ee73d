/** Restores the roles of nodes before a scenario, and repairs roles after it. */
import { form } from "../../valkey/formation/form";
import { awaitCondition } from "../../lib/polling";
import type { FaultContext } from "./fault-context";
import { handOver } from "./hand-over";

/** Hands the role of primary back to each initial primary that is now a replica. */
export async function restoreRoles(initialPrimaries: readonly string[], context: FaultContext): Promise<void> {
  const { observer } = context;
  await awaitCondition("every node is up and every replica linked", () => observer.isRedundant, context);
  for (const name of initialPrimaries) {
    const { role, follows } = observer.state(name);
    if (role === "replica" && follows !== undefined) await handOver(follows, context, name);
  }
}

/**
 * Moves roles between the nodes of a cluster until no replica is in the zone of its primary. The function uses the same
 * steps as the formation of a cluster.
 * @returns whether anything changed
 */
export async function repairZones({ injector, shape, signal, logEvent }: FaultContext): Promise<boolean> {
  if (injector.deployment.mode !== "cluster") return false;
  const report = (line: string, passing?: boolean): void => {
    if (passing !== true) logEvent(line);
  };
  const { changed } = await form({ ...injector.deployment, nodes: injector.nodes() }, shape, { signal, report });
  return changed;
}
