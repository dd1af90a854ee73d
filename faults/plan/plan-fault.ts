/** Plans of the faults, or the reasons why a fault cannot be injected into a deployment. */
import { compact } from "../../lib/compact";
import type { Shape } from "../../valkey/topology/placement";
import type { DeploymentOutline, FaultPlan, FaultAction } from "./fault-plan";

/** Warning for a full disk. The behavior of Valkey 9.1.2 was seen in this project's own scenarios. */
const TORN_WRITE_WARNING =
  "when a full disk cuts a write short, Valkey 9.1.2 leaves zeros in the append-only file and refuses to start from " +
  "that file; the scenario rewrites the file when the disk has room again";

const CUT_WRITES_WARNING =
  "clients reach both sides of the cut: a primary that is cut off accepts writes until it notices the cut, and these writes are lost";

const NOTHING_TO_HEAL = { assist: [], healWhen: "served", heal: [] } as const;

function firstPrimaries({ shards }: DeploymentOutline, count: number): string[] {
  return shards.slice(0, count).map(({ primary }) => primary);
}

/** @param restart seconds after which the killed nodes start again; undefined: when all slots are served again */
export function killPrimary(outline: DeploymentOutline, restart: number | undefined): FaultPlan {
  return planKill(outline, firstPrimaries(outline, 1), restart);
}

export function killPrimaries(
  outline: DeploymentOutline,
  share: number,
  restart: number | undefined,
): FaultPlan | string {
  if (outline.mode === "replication") return "replication has one primary: use kill-primary";
  const count = Math.max(1, Math.round(share * outline.shards.length));
  return planKill(outline, firstPrimaries(outline, count), restart);
}

export function killZone(
  outline: DeploymentOutline,
  zone: string | undefined,
  restart: number | undefined,
): FaultPlan | string {
  return onGroup(outline, { kind: "zone", groupOf: outline.zoneOf, wanted: zone }, (nodes) =>
    planKill(outline, withSentinels(outline, nodes), restart),
  );
}

export function killMachine(outline: DeploymentOutline, restart: number | undefined): FaultPlan | string {
  const machines = new Set(outline.machineOf.values());
  if (machines.size < 2) return "all nodes are on one machine: use kill-all";
  return onGroup(outline, { kind: "machine", groupOf: outline.machineOf, wanted: undefined }, (nodes) =>
    planKill(outline, nodes, restart),
  );
}

function planKill(outline: DeploymentOutline, nodes: readonly string[], restart: number | undefined): FaultPlan {
  const killed = new Set(nodes);
  const struck = outline.shards.filter(({ primary }) => killed.has(primary));
  const successors = compact(struck.map(({ replicas }) => replicas.find((name) => !killed.has(name))));
  const headless = struck.filter(({ replicas }) => replicas.every((name) => killed.has(name)));
  const assists = losesMajority(outline, nodes) && successors.length > 0;
  const keepsData = outline.persistent || (headless.length === 0 && outline.hasAutomaticFailover);
  return {
    victims: nodes,
    inject: [{ do: "kill", nodes }],
    assist: assists ? [{ do: "take-over", nodes: successors }] : [],
    healWhen: restart === undefined ? "served" : { seconds: restart },
    heal: [{ do: "start", nodes, newAddresses: false }],
    warnings: compact([
      ...failoverWarnings(outline),
      ...majorityWarnings(outline, nodes),
      ...headlessWarnings(headless.map(({ primary }) => primary)),
      keepsData
        ? undefined
        : "nothing is stored on disk: a primary that starts again is empty, and its replicas then copy the empty data set",
    ]),
  };
}

export function killAll(outline: DeploymentOutline, newAddresses: boolean): FaultPlan {
  const nodes = [...outline.zoneOf.keys(), ...outline.sentinelZoneOf.keys()];
  const keepsPeers = outline.mode === "cluster" || outline.sentinelZoneOf.size > 0;
  const mustRejoin = newAddresses && !outline.rediscoversPeers && keepsPeers;
  const rejoin: FaultAction = { do: "rejoin" };
  return {
    victims: nodes,
    inject: [{ do: "kill", nodes }],
    assist: [],
    healWhen: { seconds: 0 },
    heal: compact([{ do: "start", nodes, newAddresses }, mustRejoin ? rejoin : undefined]),
    warnings: compact([
      mustRejoin
        ? "each node knows only the old addresses of the other nodes, so the nodes have to meet again"
        : undefined,
      outline.persistent ? undefined : "nothing is stored on disk: every acknowledged write is lost",
    ]),
  };
}

export function freezePrimary(outline: DeploymentOutline, seconds: number): FaultPlan {
  const nodes = firstPrimaries(outline, 1);
  return {
    victims: nodes,
    inject: [{ do: "freeze", nodes }],
    assist: [],
    healWhen: { seconds },
    heal: [{ do: "thaw", nodes }],
    warnings: failoverWarnings(outline),
  };
}

export function cutZone(outline: DeploymentOutline, zone: string | undefined, seconds: number): FaultPlan | string {
  return onGroup(outline, { kind: "zone", groupOf: outline.zoneOf, wanted: zone }, (nodes) =>
    planCut(outline, nodes, seconds),
  );
}

function planCut(outline: DeploymentOutline, nodes: readonly string[], seconds: number): FaultPlan {
  const victims = withSentinels(outline, nodes);
  return {
    victims,
    inject: [{ do: "cut", nodes: victims }],
    assist: [],
    healWhen: { seconds },
    heal: [{ do: "heal-cut" }],
    warnings: [...failoverWarnings(outline), ...majorityWarnings(outline, nodes), CUT_WRITES_WARNING],
  };
}

export function fullDisk(outline: DeploymentOutline, seconds: number): FaultPlan | string {
  if (!outline.persistent) return "nothing is written to disk: full-disk needs appendonly: true";
  const nodes = firstPrimaries(outline, 1);
  return {
    victims: nodes,
    inject: [{ do: "fill-disk", nodes }],
    assist: [],
    healWhen: { seconds },
    heal: [
      { do: "free-disk", nodes },
      { do: "start", nodes, newAddresses: false },
      { do: "rewrite-aof", nodes },
    ],
    warnings: [TORN_WRITE_WARNING],
  };
}

export function rollingRestart(outline: DeploymentOutline, home: string | undefined): FaultPlan {
  return {
    ...NOTHING_TO_HEAL,
    victims: [...outline.zoneOf.keys()],
    inject: [{ do: "rolling-restart", home }],
    warnings: missingReplicaWarnings(outline),
  };
}

export function scale(outline: DeploymentOutline, to: Shape): FaultPlan | string {
  const { mode, shape } = outline;
  if (mode === "replication") return "only a deployment in cluster mode can be resized while it serves clients";
  if (to.primaries === shape.primaries && to.replicasPerPrimary === shape.replicasPerPrimary)
    return "the deployment already has this number of primaries and replicas";
  return {
    ...NOTHING_TO_HEAL,
    victims: [],
    inject: [
      { do: "resize", to },
      { do: "resize", to: shape },
    ],
    warnings: [],
  };
}

function withSentinels({ zoneOf, sentinelZoneOf }: DeploymentOutline, nodes: readonly string[]): string[] {
  const zones = new Set(nodes.map((name) => zoneOf.get(name)));
  const sentinels = [...sentinelZoneOf].filter(([, zone]) => zones.has(zone)).map(([name]) => name);
  return [...nodes, ...sentinels];
}

interface NodeGroups {
  readonly kind: "zone" | "machine";
  readonly groupOf: ReadonlyMap<string, string>;
  /** Name of the zone or machine that the fault strikes; undefined for the zone or machine with the most primaries. */
  readonly wanted: string | undefined;
}

function onGroup(
  { shards }: DeploymentOutline,
  { kind, groupOf, wanted }: NodeGroups,
  plan: (nodes: readonly string[]) => FaultPlan,
): FaultPlan | string {
  const groups = [...new Set(groupOf.values())].sort();
  if (wanted !== undefined && !groups.includes(wanted))
    return `no node is in ${kind} ${wanted}; allowed: ${groups.join(", ")}`;
  if (groups.length < 2) return `there is only one ${kind}`;
  const members = (group: string): string[] => [...groupOf].filter(([, its]) => its === group).map(([name]) => name);
  const primaries = new Set(shards.map(({ primary }) => primary));
  const countPrimaries = (group: string): number => members(group).filter((name) => primaries.has(name)).length;
  const largest = groups.reduce((a, b) => (countPrimaries(b) > countPrimaries(a) ? b : a));
  return plan(members(wanted ?? largest));
}

/** A cluster needs a majority of all primaries with slots, including failed primaries. */
function losesMajority({ mode, shards }: DeploymentOutline, nodes: readonly string[]): boolean {
  const lost = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return mode === "cluster" && (shards.length - lost) * 2 <= shards.length;
}

function majorityWarnings(outline: DeploymentOutline, nodes: readonly string[]): string[] {
  if (!losesMajority(outline, nodes)) return [];
  const { shards } = outline;
  const lost = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return [
    `${lost} of ${shards.length} primaries are lost: no majority is left to elect replicas, so replicas take over only ` +
      "after CLUSTER FAILOVER TAKEOVER",
  ];
}

function failoverWarnings({ hasAutomaticFailover, mode }: DeploymentOutline): string[] {
  if (hasAutomaticFailover) return [];
  return mode === "replication"
    ? ["no replica is promoted: writes fail until the primary is back"]
    : ["no replica takes over: cluster-replica-no-failover is set"];
}

function headlessWarnings(headless: readonly string[]): string[] {
  if (headless.length === 0) return [];
  return [
    `no replica of ${headless.join(", ")} is left, so no node serves the slots of these primaries until the primaries start again`,
  ];
}

function missingReplicaWarnings({ shards }: DeploymentOutline): string[] {
  const unreplicated = shards.filter(({ replicas }) => replicas.length === 0).map(({ primary }) => primary);
  return unreplicated.length === 0 ? [] : [`primaries without a replica to hand over to: ${unreplicated.join(", ")}`];
}
