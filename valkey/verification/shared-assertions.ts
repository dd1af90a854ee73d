import { groupBy } from "../../lib/group-by";
import { type Observation, mapObservation, unobserved } from "../observation";
import { splitDirectives } from "../settings/dynamic-settings";
import { awaitsReplicas, COMPARED_DIRECTIVES } from "../settings/settings";
import { infoNumber } from "../topology/replies";
import type { DeploymentFacts, NodeFacts } from "./facts";
import type { JudgedFacts, Shard } from "./shards";
import type { Judgement, Violation } from "./violations";
import { differencesOf, listNames, unobservedViolations, violationsOf } from "./violations";

/** Every node replies, and no two of them are one server. */
export function reachable({ nodes }: DeploymentFacts): Judgement {
  const violations = nodes
    .filter(({ info }) => !info.known)
    .map((each) => ({ node: each.node.name, problem: whySilent(each) }));
  const doubles = sameServers(nodes).flatMap((names) =>
    names.map((node): Violation => {
      const others = names.filter((name) => name !== node);
      return { node, problem: `is the same server as ${listNames(others)}` };
    }),
  );
  return { violations: [...violations, ...doubles], expected: `${nodes.length} of ${nodes.length} nodes` };
}

/** The reason without the name of the node, with which many reasons begin. */
export function whySilent({ node: { name }, info }: NodeFacts): string {
  const why = info.known ? "" : info.why;
  return why.startsWith(name) ? why.slice(name.length).replace(/^[:\s]+/, "") : why;
}

export function sameServers(nodes: readonly NodeFacts[]): string[][] {
  return namesOfOneServer(
    nodes.map(({ node, info, view }) => ({
      name: node.name,
      runId: info.known ? info.value.get("run_id") : undefined,
      nodeId: view.known ? view.value.selfId : undefined,
    })),
  );
}

/** Run IDs are unique, but a service in front of servers may give one for all: then their node IDs differ. */
export function namesOfOneServer(
  servers: readonly {
    readonly name: string;
    readonly runId?: string | undefined;
    readonly nodeId?: string | undefined;
  }[],
): string[][] {
  const byServer = groupBy(servers, ({ name, runId, nodeId = "" }) => (runId === undefined ? name : runId + nodeId));
  return [...byServer.values()].filter(({ length }) => length > 1).map((own) => own.map(({ name }) => name));
}

const MODE_PROBLEMS: Readonly<Record<string, string>> = {
  cluster:
    "is a node of a cluster, not of a replication; give the mode cluster (--mode cluster), and name all nodes of the cluster",
  standalone: "is not in cluster mode; give the mode replication (--mode replication)",
  sentinel: "is a Sentinel and has no data; name only servers that have data",
};

/** Undefined if all servers run in this mode, or do not tell. */
export function wrongMode({ nodes, mode }: DeploymentFacts): Judgement | undefined {
  const wanted = mode === "cluster" ? "cluster" : "standalone";
  const violations = nodes.flatMap(({ node, info, clusterInfo }): Violation[] => {
    // Some services answer as a cluster, but INFO says something else.
    if (clusterInfo.known) return [];
    const told = info.known ? (info.value.get("server_mode") ?? info.value.get("redis_mode") ?? "") : "";
    const problem = told === wanted ? undefined : MODE_PROBLEMS[told];
    return problem === undefined ? [] : [{ node: node.name, problem }];
  });
  if (violations.length === 0) return undefined;
  return { violations, expected: `servers in the mode ${mode}` };
}

export function notLoading({ nodes }: DeploymentFacts): Violation[] {
  return violationsOf(
    nodes,
    ({ info }) => info,
    (info) => {
      if (info.get("loading") === "0") return undefined;
      return info.get("loading") === "1" ? "is loading its data" : "does not report whether it is loading its data";
    },
  );
}

export function sameVersion({ nodes }: DeploymentFacts): Judgement {
  const version = ({ info }: NodeFacts): Observation<string> => mapObservation(info, serverVersion);
  const violations = differencesOf(nodes, "version", version);
  const [first] = nodes.flatMap(({ info }) => (info.known ? [serverVersion(info.value)] : []));
  return { violations, found: first ?? "none" };
}

/** The server and its version from INFO, such as `valkey 9.1.2` */
export function serverVersion(info: ReadonlyMap<string, string>): string {
  const name = info.get("server_name") ?? "redis";
  return `${name} ${info.get(`${name}_version`) ?? info.get("redis_version") ?? "unknown"}`;
}

/** Other directives are compared only between nodes: CONFIG GET prints many in a different form than valkey.conf. */
export function sameSettings({ nodes, directives }: DeploymentFacts): Judgement {
  const readable = nodes.filter(({ settings }) => settings.known);
  const names = new Set(readable.flatMap(({ settings }) => (settings.known ? [...settings.value.keys()] : [])));
  const unread: Violation[] =
    readable.length > 0 && names.size === 0 ? [{ node: "", problem: "no setting could be read" }] : [];
  const unsupported = [...directives.keys()].filter((name) => names.size > 0 && !names.has(name));
  const differing = [...names].flatMap((name) => {
    const valueOf = ({ settings }: NodeFacts): Observation<string> =>
      mapObservation(settings, (values) => values.get(name) ?? "unknown to the server");
    const wanted = COMPARED_DIRECTIVES.includes(name) ? directives.get(name) : undefined;
    const compared = readable.filter(
      ({ settings }) => settings.known && !awaitsReplicas(name, settings.value.get(name)),
    );
    return differencesOf(compared, name, valueOf, wanted);
  });
  const violations = [
    ...unobservedViolations(nodes, ({ settings }) => settings),
    ...unread,
    ...unsupported.map((name): Violation => ({ node: "", problem: `the servers do not have the setting ${name}` })),
    ...differing,
  ];
  return { violations, expected: `${names.size} settings the same` };
}

/** Those that CONFIG SET can change, of COMPARED_DIRECTIVES. */
export function changedSettings({ nodes, directives }: DeploymentFacts): string[] {
  const { live } = splitDirectives(directives);
  return COMPARED_DIRECTIVES.filter((name) => {
    const wanted = live.get(name);
    const differs = (value?: string): boolean => value !== wanted && !awaitsReplicas(name, value);
    return wanted !== undefined && nodes.some(({ settings }) => settings.known && differs(settings.value.get(name)));
  });
}

export function desiredUsers({ nodes, users }: DeploymentFacts): Judgement | undefined {
  if (users === undefined) return sameUsers(nodes);
  const names = Object.keys(users);
  const violations = violationsOf(
    nodes,
    (node) => node.users ?? unobserved("not asked"),
    (problems) => (problems.length === 0 ? undefined : problems.join(", ")),
  );
  return { violations, expected: names.join(", ") };
}

/** Servers do not replicate users. Undefined if no server tells its users. */
function sameUsers(nodes: readonly NodeFacts[]): Judgement | undefined {
  const told = nodes.flatMap(({ node, rules }) =>
    rules?.known === true ? [{ node: node.name, rules: rules.value }] : [],
  );
  if (told.length === 0) return undefined;
  const names = [...new Set(told.flatMap(({ rules }) => [...rules.keys()]))].sort();
  const violations = names.flatMap((name) => {
    const byRules = groupBy(told, ({ rules }) => rules.get(name));
    const [mostCommon] = [...byRules].sort(([, a], [, b]) => b.length - a.length);
    const problemOf = (rules: string | undefined): string => {
      if (rules === undefined) return `has no user ${name}`;
      return mostCommon?.[0] === undefined
        ? `has a user ${name}`
        : `has a user ${name} with different rules or passwords`;
    };
    return [...byRules].flatMap(([rules, holders]) =>
      rules === mostCommon?.[0] ? [] : holders.map(({ node }): Violation => ({ node, problem: problemOf(rules) })),
    );
  });
  return { violations, expected: names.join(", ") };
}

export function zonesKnown({ nodes }: DeploymentFacts): Judgement {
  const unknown = nodes.filter(({ node }) => (node.zone ?? "") === "");
  const violations = unknown.map(({ node }) => ({ node: node.name, problem: "its zone is unknown" }));
  const zones = new Set(nodes.map(({ node }) => node.zone));
  return { violations, found: `${zones.size} zones` };
}

/**
 * Wrong if the server's machine is in a different zone. A restarted server can report none until the next update: then
 * clients read from any replica. Empty without configured zones, or if no server has the directive.
 */
export function zonesTold({ nodes, zones }: DeploymentFacts): Judgement | undefined {
  const toldBy = ({ info }: NodeFacts): string | undefined => (info.known ? info.value.get(TOLD_ZONE) : undefined);
  const telling = nodes.filter((each) => toldBy(each) !== undefined);
  if (zones === undefined || telling.length === 0) return undefined;
  const violations = telling.flatMap((each): Violation[] => {
    const [told = "", zone = ""] = [toldBy(each), each.node.zone];
    if (told === "" || told === zone) return [];
    const place = zone === "" ? "an unknown zone" : zone;
    return [{ node: each.node.name, problem: `tells clients the zone ${told}, but its machine is in ${place}` }];
  });
  const count = telling.filter((each) => toldBy(each) !== "").length;
  return { violations, found: `${count} of ${nodes.length} tell clients their zone` };
}

const TOLD_ZONE = "availability_zone";

/** Greatest allowed lag of a replica behind its primary, bytes of the replication stream. */
const MAX_LAG_BYTES = 1024 * 1024;
/** Longest allowed time since a replica last heard from its primary, seconds. */
const MAX_LAG_SECONDS = 15;

export function linksUp({ nodes, shards }: JudgedFacts): Judgement {
  const pairs = replicasWithPrimary(nodes, shards);
  const links = violationsOf(
    pairs.map(({ replica }) => replica),
    ({ info }) => info,
    (info) => {
      const link = info.get("master_link_status");
      if (info.get("master_sync_in_progress") === "1") return "copies the data of its primary";
      return link === "up" ? undefined : `its link to its primary is ${link ?? "missing"}`;
    },
  );
  return { violations: distinct([...links, ...unasked(nodes)]), expected: `${pairs.length} up` };
}

export function lagBounded({ nodes, shards }: JudgedFacts): Judgement {
  const lags = replicasWithPrimary(nodes, shards).flatMap(({ replica, primary }) => {
    const problem = lagProblem(replica, primary);
    return problem === undefined ? [] : [{ node: replica.node.name, problem }];
  });
  const expected = `at most ${MAX_LAG_BYTES} bytes and ${MAX_LAG_SECONDS} s behind`;
  return { violations: distinct([...lags, ...unasked(nodes)]), expected, found: "all within" };
}

function replicasWithPrimary(
  nodes: readonly NodeFacts[],
  shards: readonly Shard[],
): { readonly replica: NodeFacts; readonly primary: NodeFacts | undefined }[] {
  const byName = new Map(nodes.map((each) => [each.node.name, each]));
  return shards.flatMap(({ primary, replicas }) =>
    replicas.flatMap((name) => {
      const replica = byName.get(name);
      return replica === undefined ? [] : [{ replica, primary: byName.get(primary ?? "") }];
    }),
  );
}

function unasked(nodes: readonly NodeFacts[]): Violation[] {
  return unobservedViolations(nodes, ({ info }) => info);
}

function lagProblem(replica: NodeFacts, primary: NodeFacts | undefined): string | undefined {
  if (!replica.info.known || primary?.info.known !== true) return "its lag is unknown";
  const behind = bytesBehind(replica, primary);
  const silence = infoNumber(replica.info.value, "master_last_io_seconds_ago");
  if (behind === undefined || silence === undefined) return "its lag is unknown";
  if (behind > MAX_LAG_BYTES) return `is ${behind} bytes behind`;
  if (silence < 0) return "has not heard from its primary";
  return silence > MAX_LAG_SECONDS ? `last heard from its primary ${silence} s ago` : undefined;
}

/** Undefined if a value could not be read. Correct only if both nodes were asked at about the same time. */
export function bytesBehind(replica: NodeFacts, primary: NodeFacts): number | undefined {
  if (!replica.info.known || !primary.info.known) return undefined;
  const offset = infoNumber(replica.info.value, "slave_repl_offset");
  const primaryOffset = infoNumber(primary.info.value, "master_repl_offset");
  return offset === undefined || primaryOffset === undefined ? undefined : primaryOffset - offset;
}

function distinct(violations: readonly Violation[]): Violation[] {
  return [...new Map(violations.map((each) => [`${each.node} ${each.problem}`, each])).values()];
}
