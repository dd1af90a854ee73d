/** Consequences of a fault that its name does not tell. Pure. */
import type { DeploymentOutline } from "./fault-plan";

/** Valkey 9.1.2, seen in this project's own scenarios. */
export const TORN_WRITE_WARNING =
  "a write that a full disk cuts short leaves zeros in the append-only file (9.1.2), and the server refuses to start " +
  "from it: the file is rewritten once there is room";

export const CUT_WRITES_WARNING =
  "clients reach both sides: a primary that is cut off accepts writes until it notices, and those are lost";

/** Replicas are elected by a majority of the primaries that own slots; failed primaries count in the total. */
export function losesMajority({ mode, shards }: DeploymentOutline, nodes: readonly string[]): boolean {
  const lost = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return mode === "cluster" && (shards.length - lost) * 2 <= shards.length;
}

export function majorityWarnings(outline: DeploymentOutline, nodes: readonly string[]): string[] {
  if (!losesMajority(outline, nodes)) return [];
  const { shards } = outline;
  const lost = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return [
    `${lost} of ${shards.length} primaries are lost: no majority is left to elect replicas; they take over only ` +
      "when told to (CLUSTER FAILOVER TAKEOVER)",
  ];
}

export function failoverWarnings({ hasAutomaticFailover, mode }: DeploymentOutline): string[] {
  if (hasAutomaticFailover) return [];
  return mode === "replication"
    ? ["no replica is promoted: writes fail until the primary is back"]
    : ["no replica takes over: cluster-replica-no-failover is set"];
}

/** @param headless primaries whose shard has no other node left */
export function headlessWarnings(headless: readonly string[]): string[] {
  if (headless.length === 0) return [];
  return [`no replica of ${headless.join(", ")} is left: their slots are not served until they start again`];
}

export function missingReplicaWarnings({ shards }: DeploymentOutline): string[] {
  const unreplicated = shards.filter(({ replicas }) => replicas.length === 0).map(({ primary }) => primary);
  return unreplicated.length === 0 ? [] : [`${unreplicated.join(", ")} have no replica to hand over to`];
}
