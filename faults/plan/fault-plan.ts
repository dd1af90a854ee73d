import type { Mode } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";
import type { Fault, HealTime } from "./fault";

/** A deployment as a plan needs it, by node name. */
export interface DeploymentOutline {
  readonly mode: Mode;
  readonly shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[];
  readonly zoneOf: ReadonlyMap<string, string>;
  readonly machineOf: ReadonlyMap<string, string>;
  /** Sentinels, each with its zone: they share the fate of their zone's nodes. */
  readonly sentinelZoneOf: ReadonlyMap<string, string>;
  readonly shape: Shape;
  /** Whether a replica is made primary by itself when its primary fails. */
  readonly hasAutomaticFailover: boolean;
  /** Whether what was written is on disk. */
  readonly persistent: boolean;
  /** Whether nodes that come back at other addresses find each other by themselves. */
  readonly rediscoversPeers: boolean;
}

/** One thing that is done, to nodes by name. */
export type FaultAction =
  | { readonly do: "kill"; readonly nodes: readonly string[] }
  | { readonly do: "start"; readonly nodes: readonly string[]; readonly newAddresses: boolean }
  | { readonly do: "freeze" | "thaw"; readonly nodes: readonly string[] }
  | { readonly do: "cut"; readonly nodes: readonly string[] }
  | { readonly do: "join" }
  | { readonly do: "fill-disk" | "free-disk"; readonly nodes: readonly string[] }
  /** Has append-only files written anew: what was being written when the disk was full can be left in them as zeros. */
  | { readonly do: "rewrite-file"; readonly nodes: readonly string[] }
  /** Tells replicas to take over without being elected. */
  | { readonly do: "take-over"; readonly nodes: readonly string[] }
  /** Introduces nodes to each other again. */
  | { readonly do: "introduce" }
  | { readonly do: "restart-in-turn"; readonly home: string | undefined }
  | { readonly do: "resize"; readonly to: Shape };

export interface FaultPlan {
  readonly victims: readonly string[];
  readonly inject: readonly FaultAction[];
  /** Done to help, once it is clear that the deployment does not recover by itself; empty where it should. */
  readonly assist: readonly FaultAction[];
  readonly healWhen: HealTime;
  readonly heal: readonly FaultAction[];
  /** What to expect that is not plain from the fault. */
  readonly warnings: readonly string[];
}

/** @returns the plan, or why the fault makes no sense there */
export function planFault(fault: Fault, subject: DeploymentOutline): FaultPlan | string {
  switch (fault.kind) {
    case "kill-primary":
      return killing(subject, firsts(subject, 1), fault.restart);
    case "kill-primaries": {
      if (subject.mode === "replication") return "replication has one primary: kill-primary is the same";
      return killing(
        subject,
        firsts(subject, Math.max(1, Math.round(fault.share * subject.shards.length))),
        fault.restart,
      );
    }
    case "kill-zone":
      return ofGroup(subject, subject.zoneOf, fault.zone, "zone", (nodes) =>
        killing(subject, withSentinels(subject, nodes), fault.restart),
      );
    case "kill-machine": {
      const machines = new Set(subject.machineOf.values());
      if (machines.size < 2) return "all nodes are on one machine: its loss is kill-all";
      return ofGroup(subject, subject.machineOf, undefined, "machine", (nodes) =>
        killing(subject, nodes, fault.restart),
      );
    }
    case "kill-all":
      return killingAll(subject, fault.newAddresses);
    case "freeze-primary": {
      const nodes = firsts(subject, 1);
      return {
        victims: nodes,
        inject: [{ do: "freeze", nodes }],
        assist: [],
        healWhen: { seconds: fault.seconds },
        heal: [{ do: "thaw", nodes }],
        warnings: failoverWarnings(subject),
      };
    }
    case "cut-zone":
      return ofGroup(subject, subject.zoneOf, fault.zone, "zone", (nodes) => ({
        victims: withSentinels(subject, nodes),
        inject: [{ do: "cut", nodes: withSentinels(subject, nodes) }],
        assist: [],
        healWhen: { seconds: fault.seconds },
        heal: [{ do: "join" }],
        warnings: [
          ...failoverWarnings(subject),
          ...majorityWarnings(subject, nodes),
          "clients reach both sides: primaries that are cut off take writes until they notice, and those are lost",
        ],
      }));
    case "full-disk": {
      if (!subject.persistent) return "nothing is written to disk: it needs appendonly: true";
      const nodes = firsts(subject, 1);
      return {
        victims: nodes,
        inject: [{ do: "fill-disk", nodes }],
        assist: [],
        healWhen: { seconds: fault.seconds },
        heal: [
          { do: "free-disk", nodes },
          { do: "start", nodes, newAddresses: false },
          { do: "rewrite-file", nodes },
        ],
        warnings: [
          "after a rewrite, a write that fits in part leaves zeros in the append-only file (9.1.2), at which the server refuses to start: the file is written anew once there is room",
        ],
      };
    }
    case "rolling-restart":
      return {
        victims: [...subject.zoneOf.keys()],
        inject: [{ do: "restart-in-turn", home: fault.home }],
        assist: [],
        healWhen: "served",
        heal: [],
        warnings: withoutReplicas(subject),
      };
    case "scale": {
      if (subject.mode === "replication") return "only a cluster is scaled while it serves";
      const { to } = fault;
      if (to.primaries === subject.shape.primaries && to.replicasPerPrimary === subject.shape.replicasPerPrimary)
        return "it has that shape already";
      return {
        victims: [],
        inject: [
          { do: "resize", to },
          { do: "resize", to: subject.shape },
        ],
        assist: [],
        healWhen: "served",
        heal: [],
        warnings: [],
      };
    }
  }
}

function firsts({ shards }: DeploymentOutline, count: number): string[] {
  return shards.slice(0, count).map(({ primary }) => primary);
}

function killing(subject: DeploymentOutline, nodes: readonly string[], restart: HealTime): FaultPlan {
  const dead = new Set(nodes);
  const headless = subject.shards.filter(({ primary }) => dead.has(primary));
  const heirs = headless.flatMap(({ replicas }) => replicas.find((name) => !dead.has(name)) ?? []);
  const takeOver = subject.mode === "cluster" && losesMajority(subject, nodes);
  const bereft = headless
    .filter(({ replicas }) => replicas.every((name) => dead.has(name)))
    .map(({ primary }) => primary);
  return {
    victims: nodes,
    inject: [{ do: "kill", nodes }],
    assist: takeOver && heirs.length > 0 ? [{ do: "take-over", nodes: heirs }] : [],
    healWhen: restart,
    heal: [{ do: "start", nodes, newAddresses: false }],
    warnings: [
      ...failoverWarnings(subject),
      ...majorityWarnings(subject, nodes),
      ...(bereft.length === 0
        ? []
        : [`no replica of ${bereft.join(", ")} is left: their slots are not served before they are started again`]),
      ...(subject.persistent || (bereft.length === 0 && subject.hasAutomaticFailover)
        ? []
        : ["nothing is on disk: a primary that is started again is empty, and so are then its replicas"]),
    ],
  };
}

function killingAll(subject: DeploymentOutline, newAddresses: boolean): FaultPlan {
  const nodes = [...subject.zoneOf.keys(), ...subject.sentinelZoneOf.keys()];
  const meet =
    newAddresses && !subject.rediscoversPeers && (subject.mode === "cluster" || subject.sentinelZoneOf.size > 0);
  return {
    victims: nodes,
    inject: [{ do: "kill", nodes }],
    assist: [],
    healWhen: { seconds: 0 },
    heal: [{ do: "start", nodes, newAddresses }, ...(meet ? [{ do: "introduce" } as const] : [])],
    warnings: [
      ...(meet ? ["what nodes know of each other's addresses is stale: they are introduced again"] : []),
      ...(subject.persistent ? [] : ["nothing is on disk: every acknowledged write is lost"]),
    ],
  };
}

/** With the Sentinels of their zones. */
function withSentinels({ zoneOf, sentinelZoneOf }: DeploymentOutline, nodes: readonly string[]): string[] {
  const zones = new Set(nodes.map((name) => zoneOf.get(name)));
  return [...nodes, ...[...sentinelZoneOf].filter(([, zone]) => zones.has(zone)).map(([name]) => name)];
}

/** The zone or machine of that name, or the one with most primaries. */
function ofGroup(
  subject: DeploymentOutline,
  groupOf: ReadonlyMap<string, string>,
  wanted: string | undefined,
  what: string,
  plan: (nodes: readonly string[]) => FaultPlan,
): FaultPlan | string {
  const groups = [...new Set(groupOf.values())].sort();
  const members = (group: string): string[] => [...groupOf].filter(([, its]) => its === group).map(([name]) => name);
  const primaries = new Set(subject.shards.map(({ primary }) => primary));
  const leading = (group: string): number => members(group).filter((name) => primaries.has(name)).length;
  if (wanted !== undefined && !groups.includes(wanted))
    return `no node is in ${what} ${wanted}; there are ${groups.join(", ")}`;
  if (groups.length < 2) return `there is only one ${what}`;
  return plan(members(wanted ?? groups.reduce((a, b) => (leading(b) > leading(a) ? b : a))));
}

/** Replicas are elected by a majority of the primaries that serve slots, the failed ones counted. */
function losesMajority({ mode, shards }: DeploymentOutline, nodes: readonly string[]): boolean {
  const dead = shards.filter(({ primary }) => nodes.includes(primary)).length;
  return mode === "cluster" && (shards.length - dead) * 2 <= shards.length;
}

function majorityWarnings(subject: DeploymentOutline, nodes: readonly string[]): string[] {
  const struck = subject.shards.filter(({ primary }) => nodes.includes(primary)).length;
  if (!losesMajority(subject, nodes)) return [];
  return [
    `${struck} of ${subject.shards.length} primaries: no majority is left to elect others; replicas take over only when told to (CLUSTER FAILOVER TAKEOVER)`,
  ];
}

function failoverWarnings({ hasAutomaticFailover, mode }: DeploymentOutline): string[] {
  if (hasAutomaticFailover) return [];
  return [
    mode === "replication"
      ? "nobody promotes a replica: without a primary nothing is written until it is back"
      : "replicas do not take over by themselves",
  ];
}

function withoutReplicas({ shards }: DeploymentOutline): string[] {
  const alone = shards.filter(({ replicas }) => replicas.length === 0).map(({ primary }) => primary);
  return alone.length === 0 ? [] : [`${alone.join(", ")} have no replica to hand over to`];
}

/** What is done, in words. */
export function describeAction(action: FaultAction): string {
  switch (action.do) {
    case "kill":
      return `SIGKILL ${names(action.nodes)}`;
    case "start":
      return `start ${names(action.nodes)} again${action.newAddresses ? " at other addresses" : ""}`;
    case "freeze":
      return `SIGSTOP ${names(action.nodes)}`;
    case "thaw":
      return `SIGCONT ${names(action.nodes)}`;
    case "cut":
      return `cut ${names(action.nodes)} off from the others`;
    case "join":
      return "join what was cut";
    case "fill-disk":
      return `fill the disk of ${names(action.nodes)}`;
    case "free-disk":
      return `free the disk of ${names(action.nodes)}`;
    case "rewrite-file":
      return `have ${names(action.nodes)} write the append-only file anew`;
    case "take-over":
      return `tell ${names(action.nodes)} to take over`;
    case "introduce":
      return "introduce all nodes to each other again";
    case "restart-in-turn":
      return action.home === undefined
        ? "restart every node in turn"
        : `restart every node in turn with the programs in ${action.home}`;
    case "resize":
      return `resize to ${action.to.primaries} primaries with ${action.to.replicasPerPrimary} replicas each`;
  }
}

const MOST_NAMED = 6;

function names(nodes: readonly string[]): string {
  return nodes.length <= MOST_NAMED ? nodes.join(", ") : `${nodes.length} nodes`;
}

/** The plan for a preview, a line each. */
export function describeFaultPlan(plan: FaultPlan): string[] {
  const when = plan.healWhen === "served" ? "once all is served again" : `after ${plan.healWhen.seconds} s`;
  return [
    ...plan.inject.map(describeAction),
    ...plan.assist.map((action) => `if it does not recover: ${describeAction(action)}`),
    ...plan.heal.map((action) => `${when}: ${describeAction(action)}`),
    ...plan.warnings.map((warning) => `expect: ${warning}`),
  ];
}
