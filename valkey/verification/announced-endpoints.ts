import { groupBy } from "../../lib/group-by";
import { type Endpoint, formatEndpoint } from "../node";
import type { SentinelFacts } from "../sentinel/facts";
import type { KnownAddress } from "../topology/cluster-view";
import { hasPrimaryRole, infoFields } from "../topology/replies";
import type { AnnouncedEndpoint, NodeFacts } from "./facts";
import { type Violation, listNames } from "./violations";

const TYPE = "cluster-preferred-endpoint-type";
/** Directives with the ports that clients get, the most important one first. The last one is the port itself. */
const PORTS = {
  plain: ["cluster-announce-client-port", "cluster-announce-port", "port"],
  tls: ["cluster-announce-client-tls-port", "cluster-announce-tls-port", "tls-port"],
} as const;
const CLIENT_ADDRESSES = ["cluster-announce-client-ipv4", "cluster-announce-client-ipv6"] as const;

const REPLICA_DIRECTIVES = ["replica-announce-ip", "replica-announce-port", "tls-replication"] as const;

export const ANNOUNCING_DIRECTIVES: readonly string[] = [
  ...[TYPE, ...PORTS.plain, ...PORTS.tls, ...CLIENT_ADDRESSES],
  ...REPLICA_DIRECTIVES,
];

/** @param at address to which the connection to each node leads, by name of the node */
export function announcedEndpoints(
  nodes: readonly NodeFacts[],
  at: ReadonlyMap<string, Endpoint>,
  tls: boolean,
): AnnouncedEndpoint[] {
  const given = endpointsInViews(nodes, at, tls);
  const byNode = groupBy(given, ({ node }) => node);
  return [...given, ...nodes.flatMap((each) => endpointsForOthers(each, byNode.get(each.node.name) ?? []))];
}

function endpointsInViews(
  nodes: readonly NodeFacts[],
  at: ReadonlyMap<string, Endpoint>,
  tls: boolean,
): AnnouncedEndpoint[] {
  const views = nodes.flatMap(({ node: { name }, view, announcing }) => {
    if (!view.known) return [];
    const type = announcing?.known === true ? (announcing.value.get(TYPE) ?? "ip") : "ip";
    return [{ name, ...view.value, kind: type === "unknown-endpoint" ? { asked: at.get(name)?.host ?? "" } : type }];
  });
  const given = new Map<string, { readonly node: string; readonly endpoint: Endpoint; readonly by: string[] }>();
  // In a large cluster nearly all views share their addresses, and each of them has every node.
  for (const [addresses, sharing] of groupBy(views, (each) => each.addresses)) {
    for (const givers of groupBy(sharing, ({ kind }) => JSON.stringify(kind)).values()) {
      const kind = givers[0]?.kind ?? "ip";
      for (const { name: node, selfId } of views) {
        const address = addresses.get(selfId);
        const host = address && hostFor(address, kind);
        if (address === undefined || host === undefined) continue;
        const endpoint = { host, port: address.port };
        const key = `${node} ${formatEndpoint(endpoint)}`;
        const each = given.get(key) ?? { node, endpoint, by: [] };
        given.set(key, each);
        for (const { name } of givers) each.by.push(name);
      }
    }
  }
  return [...given.values()].map((each) => ({ ...each, tls, by: each.by.length === views.length ? [] : each.by }));
}

/** Undefined if clients get no host that could be judged: the host is unknown, or it is the one that they asked. */
function hostFor({ host, hostname }: KnownAddress, kind: string | { readonly asked: string }): string | undefined {
  if (kind === "hostname") return hostname ?? "";
  const given = typeof kind === "string" ? host : kind.asked;
  return given === "" ? undefined : given;
}

function endpointsForOthers(
  { node: { name }, announcing }: NodeFacts,
  given: readonly AnnouncedEndpoint[],
): AnnouncedEndpoint[] {
  if (announcing?.known !== true) return [];
  const named = given.filter(({ endpoint }) => endpoint.host !== "");
  const hosts = new Set(named.map(({ endpoint }) => endpoint.host));
  const addresses = CLIENT_ADDRESSES.flatMap((directive) => announcing.value.get(directive) ?? []).filter(
    (host) => host !== "" && !hosts.has(host) && announcing.value.get(TYPE) === "ip",
  );
  return named.flatMap((each): AnnouncedEndpoint[] => {
    const { endpoint, tls } = each;
    const port = announcedPort(announcing.value, !tls);
    return [
      ...(port === undefined ? [] : [{ ...each, tls: !tls, endpoint: { host: endpoint.host, port } }]),
      ...addresses.map((host) => ({ node: name, tls, by: [], endpoint: { host, port: endpoint.port } })),
    ];
  });
}

function announcedPort(announcing: ReadonlyMap<string, string>, tls: boolean): number | undefined {
  const directives = tls ? PORTS.tls : PORTS.plain;
  const [port] = directives.flatMap((directive) => Number(announcing.get(directive)) || []);
  return port;
}

/** An endpoint of some replica, and the greatest number of times that one server names it. */
export interface ReplicaEndpoint extends Omit<AnnouncedEndpoint, "node"> {
  readonly times: number;
}

/** Endpoints that primaries and Sentinels name for replicas. They do not tell for which ones. */
export function replicaEndpoints(
  nodes: readonly NodeFacts[],
  sentinels: readonly SentinelFacts[],
  tls: boolean,
): ReplicaEndpoint[] {
  const ofNodes = nodes.flatMap(({ node: { name }, info }) =>
    (info.known ? replicasIn(info.value) : []).map((endpoint) => ({ name, endpoint })),
  );
  const ofSentinels = sentinels.flatMap(({ node: { name }, view }) =>
    (view.known ? view.value.replicas : []).map(({ endpoint }) => ({ name, endpoint })),
  );
  // A program that only reads the data of a primary has port 0.
  const all = [...ofNodes, ...ofSentinels].filter(({ endpoint }) => endpoint.port > 0);
  return [...groupBy(all, ({ endpoint }) => formatEndpoint(endpoint)).values()].flatMap((same) => {
    const byName = groupBy(same, ({ name }) => name);
    const times = Math.max(...[...byName.values()].map(({ length }) => length));
    return same.slice(0, 1).map(({ endpoint }) => ({ endpoint, tls, by: [...byName.keys()], times }));
  });
}

function replicasIn(info: ReadonlyMap<string, string>): Endpoint[] {
  const replicas = [...info].filter(([key]) => /^slave\d+$/.test(key)).map(([, value]) => infoFields(value));
  return replicas.map((fields) => ({ host: fields.get("ip") ?? "", port: Number(fields.get("port")) }));
}

/** @param found endpoints with the servers behind them */
export function announcedReplicas(nodes: readonly NodeFacts[], found: readonly ReplicaEndpoint[]): AnnouncedEndpoint[] {
  const replicas = nodes.filter(({ info }) => info.known && !hasPrimaryRole(info.value));
  const given = found.map((each) => ({ each, names: replicasAt(each, replicas) }));
  const named = given.flatMap(({ each, names }) => names.map((node) => ({ ...each, node })));
  const left = replicas.map(({ node }) => node.name).filter((name) => named.every(({ node }) => node !== name));
  // A silent node can be the one that an endpoint stands for.
  const isOfLeft = left.length > 0 && nodes.every(({ info }) => info.known);
  const unnamed = given.flatMap(({ each, names }) => (isOfLeft && names.length === 0 ? [each] : []));
  const all = [...named, ...unnamed.map((each) => ({ ...each, node: likelyReplica(each, left) }))];
  return [...all, ...replicas.flatMap((each) => announcedNext(each, all))];
}

/** Empty if it can be each of several. */
function likelyReplica(found: ReplicaEndpoint, names: readonly string[]): string {
  const behind = serverNames(found);
  const [only = "", ...others] = names;
  return names.find((name) => behind.includes(name)) ?? (others.length === 0 ? only : "");
}

/** Names of the replicas that an endpoint stands for, because they announce it. */
function replicasAt(found: ReplicaEndpoint, replicas: readonly NodeFacts[]): string[] {
  const { endpoint, times } = found;
  const announcing = replicas
    .map((each) => ({ name: each.node.name, ...replicaAnnouncement(each) }))
    .filter(({ host, port }) => port === endpoint.port && ["", endpoint.host].includes(host));
  const exactly = announcing.filter(({ host }) => host === endpoint.host);
  const likely = exactly.length > 0 ? exactly : announcing;
  const behind = serverNames(found);
  const isAll = exactly.length > 0 || times >= announcing.length;
  return likely.map(({ name }) => name).filter((name) => isAll || behind.includes(name));
}

/** With an empty host, the primary takes the address from which the replica connects. */
function replicaAnnouncement({ node, announcing }: NodeFacts): Endpoint & { readonly isSet: boolean } {
  const told = announcing?.known === true ? announcing.value : new Map<string, string>();
  const [host = "", port] = [told.get("replica-announce-ip"), Number(told.get("replica-announce-port"))];
  const ports = told.get("tls-replication") === "yes" ? ["tls-port", "port"] : ["port"];
  const [listening = node.endpoint.port] = ports.flatMap((directive) => Number(told.get(directive)) || []);
  return { host, port: port > 0 ? port : listening, isSet: host !== "" || port > 0 };
}

/** The endpoint that a replica announces when it next connects to its primary, if no server names it yet. */
function announcedNext(replica: NodeFacts, given: readonly AnnouncedEndpoint[]): AnnouncedEndpoint[] {
  const { name } = replica.node;
  const { host, port, isSet } = replicaAnnouncement(replica);
  const [now, ...others] = given.filter(({ node }) => node === name);
  if (!isSet || now === undefined) return [];
  const endpoint = { host: host === "" ? now.endpoint.host : host, port };
  const isNamed = [now, ...others].some((each) => formatEndpoint(each.endpoint) === formatEndpoint(endpoint));
  return isNamed ? [] : [{ node: name, endpoint, tls: now.tls, by: [name] }];
}

/** Endpoints that Sentinels name for the primary and for each other. */
export function endpointsBySentinels(
  nodes: readonly NodeFacts[],
  sentinels: readonly SentinelFacts[],
  tls: boolean,
): AnnouncedEndpoint[] {
  const [primary, ...others] = nodes.filter(({ info }) => info.known && hasPrimaryRole(info.value));
  const sole = others.length === 0 ? primary?.node.name : undefined;
  const nameOf = new Map(sentinels.map(({ node, id }) => [id, node.name]));
  const all = sentinels.flatMap(({ node: { name }, view }) => {
    if (!view.known) return [];
    const known = view.value.otherSentinels.map(({ id, endpoint }) => ({ node: nameOf.get(id), endpoint }));
    return [{ node: sole, endpoint: view.value.primary }, ...known].flatMap(({ node, endpoint }) =>
      node === undefined || endpoint.port === 0 ? [] : [{ node, endpoint, tls, by: [name] }],
    );
  });
  return [...groupBy(all, ({ node, endpoint }) => `${node} ${formatEndpoint(endpoint)}`).values()].flatMap((same) =>
    same.slice(0, 1).map((each) => ({ ...each, by: same.flatMap(({ by }) => by) })),
  );
}

/** The port on which a node listens with or without TLS. Undefined if it does not, or if this is unknown. */
export function listeningPort({ announcing }: NodeFacts, tls: boolean): number | undefined {
  const port = announcing?.known === true ? Number(announcing.value.get(tls ? "tls-port" : "port")) : 0;
  return port > 0 ? port : undefined;
}

export function announcedViolations(announced: readonly AnnouncedEndpoint[]): Violation[] {
  const judged = announced.map((each) => ({ ...each, problem: endpointProblem(each) }));
  const wrong = judged.flatMap((each): Violation[] =>
    each.problem === undefined
      ? []
      : [{ node: each.node, problem: `${each.node === "" ? "a replica " : ""}is announced${each.problem}` }],
  );
  const shared = [...groupBy(judged, placeOf).values()].flatMap((sharing) => {
    const names = [...new Set(sharing.map(({ node }) => node))];
    if (names.length === 1 || sharing.some(({ problem }) => problem !== undefined)) return [];
    return sharing.map((each): Violation => {
      const others = names.filter((name) => name !== each.node);
      return { node: each.node, problem: `is announced${placeOf(each)}, as is ${listNames(others)}` };
    });
  });
  return [...wrong, ...shared];
}

export function describeAnnounced(announced: readonly AnnouncedEndpoint[]): string {
  const untried = announced.filter(({ servers }) => servers === undefined || servers.includes("unknown")).length;
  return untried === 0
    ? `each of ${announced.length} announced endpoints to its node`
    : `each of ${announced.length} announced endpoints to one node (${untried} could not be tried from here)`;
}

function placeOf({ endpoint, tls }: AnnouncedEndpoint): string {
  return ` at ${formatEndpoint(endpoint)}${tls ? " with TLS" : ""}`;
}

function endpointProblem(announced: AnnouncedEndpoint): string | undefined {
  const { node, endpoint, servers, by } = announced;
  const givers = by.length === 0 ? "" : ` by ${listNames(by)}`;
  if (endpoint.host === "") return `${givers} without a host name, although ${TYPE} is hostname`;
  const place = `${givers}${placeOf(announced)}`;
  if (servers === undefined) return undefined;
  if (typeof servers === "string") return `${place}, which has no address (${servers})`;
  const names = serverNames(announced);
  const others = names.filter((name) => name !== node);
  if (others.length > 0) return `${place}, which leads to ${listNames(others)}`;
  if (names.length > 0 || servers.includes("unknown")) return undefined;
  const reasons = servers.flatMap((each) => (each !== "unknown" && "why" in each ? [each.why] : []));
  return `${place}, where no node can be reached (${listNames(reasons)})`;
}

function serverNames({ servers = [] }: Pick<AnnouncedEndpoint, "servers">): string[] {
  if (typeof servers === "string") return [];
  return servers.flatMap((each) => (each !== "unknown" && "name" in each ? [each.name] : []));
}
