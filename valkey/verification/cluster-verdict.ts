import { isIP } from "node:net";
import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import { counted } from "../../lib/units";
import { type DeploymentNode, nodeNameAt } from "../node";
import { observed } from "../observation";
import {
  type FailureFlag,
  type KnownNode,
  type OpenSlot,
  type Topology,
  describeKnownNode,
} from "../topology/cluster-view";
import type { MigrationJob } from "../topology/migration-jobs";
import { infoNumber } from "../topology/replies";
import { countSlots, formatRanges, normaliseRanges, SLOT_COUNT, subtractRanges } from "../topology/slots";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { selfOf } from "./shards";
import { type Judgement, type Violation, listNames, unobservedViolations, violationsOf } from "./violations";

export function stateOk({ nodes }: DeploymentFacts): Judgement {
  const violations = violationsOf(
    nodes,
    ({ clusterInfo }) => clusterInfo,
    (info) => {
      const state = info.get("cluster_state");
      return state === "ok" ? undefined : `reports ${state ?? "no cluster_state"}`;
    },
  );
  return { violations, found: "ok" };
}

export function slotsCovered({ nodes }: DeploymentFacts): Violation[] {
  return violationsOf(
    nodes,
    ({ clusterInfo }) => clusterInfo,
    (info) => {
      const assigned = infoNumber(info, "cluster_slots_assigned");
      const ok = infoNumber(info, "cluster_slots_ok");
      return assigned === SLOT_COUNT && ok === SLOT_COUNT ? undefined : `${assigned ?? "?"} assigned, ${ok ?? "?"} ok`;
    },
  );
}

const FLAG_WORDS: Readonly<Record<FailureFlag, string>> = {
  suspected: "suspects",
  failed: "reports as failed",
  handshake: "is in handshake with",
  "no-address": "has no address of",
};

/** No node's view has a failure flag for another node, and all bus links are up. */
export function noneFailing({ nodes }: DeploymentFacts): Violation[] {
  const nameOf = nameLookup(nodes);
  return violationsOf(
    nodes,
    ({ view }) => view,
    ({ unhealthy, unlinked }) => {
      const flagged = new Set(unhealthy.map(({ id }) => id));
      const withoutLink = unlinked.filter((id) => !flagged.has(id)).map(nameOf);
      const problems = compact([
        ...unhealthy.map(({ id, flag }) => `${FLAG_WORDS[flag]} ${nameOf(id)}`),
        withoutLink.length === 0 ? undefined : `has no link to ${listNames(withoutLink)}`,
      ]);
      return problems.length === 0 ? undefined : problems.slice(0, 4).join(", ");
    },
  );
}

/** Nodes that reply although a replying node suspects them, reports them as failed, or has no bus link to them. */
export function separatedNodes(nodes: readonly NodeFacts[]): string[] {
  const nameById = namesById(nodes.filter(({ view }) => view.known));
  const names = nodes.flatMap(({ view }) => {
    if (!view.known) return [];
    const flagged = view.value.unhealthy.filter(({ flag }) => flag === "suspected" || flag === "failed");
    return compact([...flagged.map(({ id }) => id), ...view.value.unlinked].map((id) => nameById.get(id)));
  });
  return [...new Set(names)].sort();
}

interface SharedTopology {
  readonly topology: Topology;
  readonly holders: string[];
}

/** The most common topology comes first. */
export function topologies(nodes: readonly NodeFacts[]): SharedTopology[] {
  const groups = new Map<string, SharedTopology>();
  for (const { node, view } of nodes) {
    if (!view.known) continue;
    const { topology } = view.value;
    const group = groups.get(topology.fingerprint) ?? { topology, holders: [] };
    group.holders.push(node.name);
    groups.set(topology.fingerprint, group);
  }
  return [...groups.values()].sort((a, b) => b.holders.length - a.holders.length);
}

export function viewsAgree({ nodes }: DeploymentFacts): Violation[] {
  const [common, ...others] = topologies(nodes);
  const differing = others.flatMap(({ topology, holders }) =>
    holders.map((node): Violation => ({ node, problem: firstDifference(topology, common?.topology ?? topology) })),
  );
  return [...unobservedViolations(nodes, ({ view }) => view), ...differing];
}

function firstDifference(topology: Topology, common: Topology): string {
  for (const [id, node] of topology.nodes) {
    const there = common.nodes.get(id);
    const [own, usual] = [describeKnownNode(node), there === undefined ? undefined : describeKnownNode(there)];
    if (usual === undefined) return `knows ${own}, which most nodes do not know`;
    if (usual !== own) return `sees ${own}; most nodes see ${usual}`;
  }
  const missing = [...common.nodes.values()].find(({ id }) => !topology.nodes.has(id));
  return missing === undefined ? "differs" : `does not know ${describeKnownNode(missing)}`;
}

export function members({ nodes }: DeploymentFacts): Judgement {
  const nameOf = namesById(nodes);
  const memberIds = membersById(nodes);
  const problemOf = (topology: Topology): string => {
    const unknown = [...topology.nodes.values()].filter(({ id }) => !memberIds.has(id));
    const words = unknown.map(({ id, address }) => `${id.slice(0, 8)}… at ${address.host}:${address.port}`);
    const missing = [...nameOf].filter(([id]) => !topology.nodes.has(id)).map(([, name]) => name);
    return compact([
      words.length === 0
        ? undefined
        : `knows ${listNames(words)}, which ${words.length === 1 ? "is" : "are"} not part of the deployment`,
      missing.length === 0 ? undefined : `does not know ${listNames(missing)}`,
    ]).join(" and ");
  };
  const wrong = topologies(nodes).flatMap(({ topology, holders }) => {
    const problem = problemOf(topology);
    return problem === "" ? [] : holders.map((node): Violation => ({ node, problem }));
  });
  const sharing = [...groupBy(nodes, ({ node, view }) => (view.known ? view.value.selfId : node.name)).values()];
  const doubles = sharing.flatMap((own): Violation[] =>
    own.length === 1 ? [] : own.map(({ node }) => ({ node: node.name, problem: "have the same node ID" })),
  );
  const violations = [...unobservedViolations(nodes, ({ view }) => view), ...wrong, ...doubles];
  return { violations, expected: `${nodes.length} nodes` };
}

/** A claim counts only if the node itself makes this claim. */
export function oneOwner({ nodes }: DeploymentFacts): Violation[] {
  const claims = nodes
    .flatMap((each) => (selfOf(each)?.slots ?? []).map((range) => ({ ...range, node: each.node.name })))
    .sort((a, b) => a.from - b.from);
  const violations = unobservedViolations(nodes, ({ view }) => view);
  for (const [index, claim] of claims.entries()) {
    for (const next of claims.slice(index + 1)) {
      if (next.from > claim.to) break;
      const both = formatRanges([{ from: next.from, to: Math.min(next.to, claim.to) }]);
      violations.push({ node: next.node, problem: `serves ${both}, which ${claim.node} also serves` });
    }
  }
  const unserved = normaliseRanges(subtractRanges([{ from: 0, to: SLOT_COUNT - 1 }], claims));
  if (unserved.length > 0) {
    const problem = `no node of the deployment serves ${counted(countSlots(unserved), "slot")}: ${formatRanges(unserved.slice(0, 5))}`;
    violations.push({ node: "", problem });
  }
  return violations;
}

export function noMoves({ nodes }: DeploymentFacts): Violation[] {
  const nameOf = nameLookup(nodes);
  const describe = ({ slot, direction, peerId }: OpenSlot): string =>
    direction === "migrating"
      ? `is migrating slot ${slot} to ${nameOf(peerId)}`
      : `is importing slot ${slot} from ${nameOf(peerId)}`;
  const describeJob = ({ operation, slots, source, target, state }: MigrationJob): string => {
    const ranges = `${counted(countSlots(slots), "slot")} (${formatRanges(slots)})`;
    return operation === "EXPORT"
      ? `is migrating ${ranges} to ${nameOf(target)} atomically: ${state}`
      : `is importing ${ranges} from ${nameOf(source)} atomically: ${state}`;
  };
  const firstOf = ([first, ...others]: readonly string[]): string | undefined =>
    first === undefined || others.length === 0 ? first : `${first} and ${others.length} more`;
  const marked = violationsOf(
    nodes,
    ({ view }) => view,
    ({ openSlots }) => firstOf(openSlots.map(describe)),
  );
  const running = violationsOf(
    nodes,
    ({ migrations }) => migrations ?? observed([]),
    (jobs) => firstOf(jobs.map(describeJob)),
  );
  return [...marked, ...running];
}

/** Names by node ID, without silent nodes for which several IDs are possible. */
export function namesById(nodes: readonly NodeFacts[]): Map<string, string> {
  return identify(nodes).certain;
}

/** Names by node ID. If several IDs are possible for some silent nodes, each of these nodes gets any one of them. */
export function membersById(nodes: readonly NodeFacts[]): Map<string, string> {
  const { certain, possible } = identify(nodes);
  return new Map([...certain, ...possible]);
}

interface Identities {
  readonly certain: Map<string, string>;
  readonly possible: readonly (readonly [id: string, name: string])[];
}

function identify(nodes: readonly NodeFacts[]): Identities {
  const silent = nodes.filter(({ view }) => !view.known).map(({ node }) => node);
  const known = topologies(nodes).flatMap(({ topology }) => [...topology.nodes.values()]);
  // Other nodes tell at which address, not at which host name, they know a node that does not reply.
  const told = known.flatMap(({ id, address: { host, port } }) => {
    const [only, ...more] = silent.filter(({ endpoint }) => endpoint.port === port && isIP(endpoint.host) === 0);
    const name = nodeNameAt(silent, host, port) ?? (more.length === 0 ? only?.name : undefined);
    return name === undefined ? [] : [[id, name] as const];
  });
  const own = nodes.flatMap(({ node, view }) => (view.known ? [[view.value.selfId, node.name] as const] : []));
  return byElimination(new Map([...told, ...own]), silent, known);
}

/** If as many IDs as silent nodes are left, these IDs are those of the silent nodes, whatever their addresses are. */
function byElimination(
  certain: Map<string, string>,
  silent: readonly DeploymentNode[],
  known: readonly KnownNode[],
): Identities {
  const named = new Set(certain.values());
  const nodes = silent.filter(({ name }) => !named.has(name));
  const ids = [...new Map(known.flatMap(({ id, address }) => (certain.has(id) ? [] : [[id, address.port] as const])))];
  if (ids.length !== nodes.length) return { certain, possible: [] };
  const matching = ids.flatMap(([id, port]) => {
    const [node, ...others] = nodes.filter(({ endpoint }) => endpoint.port === port);
    const isSole = others.length === 0 && ids.filter(([, each]) => each === port).length === 1;
    return node !== undefined && isSole ? [[id, node.name] as const] : [];
  });
  const matched = new Set(matching.flat());
  const otherNodes = nodes.filter(({ name }) => !matched.has(name));
  const rest = ids
    .filter(([id]) => !matched.has(id))
    .flatMap(([id], index) => otherNodes.slice(index, index + 1).map(({ name }) => [id, name] as const));
  const isCertain = rest.length === 1;
  return { certain: new Map([...certain, ...matching, ...(isCertain ? rest : [])]), possible: isCertain ? [] : rest };
}

function nameLookup(nodes: readonly NodeFacts[]): (id: string) => string {
  const names = namesById(nodes);
  return (id) => names.get(id) ?? `${id.slice(0, 8)}…`;
}
