/** Warnings about consequences of a fault that the name of the fault does not show. Pure. */
import type { DeploymentOutline } from "./fault-plan";

/** Warning for a full disk. The behavior of Valkey 9.1.2 was seen in this project's own scenarios. */
export const TORN_WRITE_WARNING =
  "when a full disk cuts a write short, Valkey 9.1.2 leaves zeros in the append-only file and refuses to start from " +
  "that file; the scenario rewrites the file when the disk has room again";

export const CUT_WRITES_WARNING =
  "clients reach both sides of the cut: a primary that is cut off accepts writes until it notices the cut, and these writes are lost";

/**
 * Whether the loss of nodes leaves no majority of primaries. To elect a replica, a cluster needs a majority of all
 * primaries with slots, including failed primaries.
 */
export function losesMajority({ mode, shards }: DeploymentOutline, nodes: readonly string[]): boolean {
  const lost = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return mode === "cluster" && (shards.length - lost) * 2 <= shards.length;
}

export function majorityWarnings(outline: DeploymentOutline, nodes: readonly string[]): string[] {
  if (!losesMajority(outline, nodes)) return [];
  const { shards } = outline;
  const lost = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return [
    `${lost} of ${shards.length} primaries are lost: no majority is left to elect replicas, so replicas take over only ` +
      "after CLUSTER FAILOVER TAKEOVER",
  ];
}

export function failoverWarnings({ hasAutomaticFailover, mode }: DeploymentOutline): string[] {
  if (hasAutomaticFailover) return [];
  return mode === "replication"
    ? ["no replica is promoted: writes fail until the primary is back"]
    : ["no replica takes over: cluster-replica-no-failover is set"];
}

/** Warnings about shards that lose all their nodes. @param headless primaries of these shards */
export function headlessWarnings(headless: readonly string[]): string[] {
  if (headless.length === 0) return [];
  return [
    `no replica of ${headless.join(", ")} is left, so no node serves the slots of these primaries until the primaries start again`,
  ];
}

export function missingReplicaWarnings({ shards }: DeploymentOutline): string[] {
  const unreplicated = shards.filter(({ replicas }) => replicas.length === 0).map(({ primary }) => primary);
  return unreplicated.length === 0 ? [] : [`primaries without a replica to hand over to: ${unreplicated.join(", ")}`];
}
