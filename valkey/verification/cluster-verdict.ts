/** The verdict on a cluster. Pure; every rule is about what the nodes themselves say. */
import type { Topology, FailureFlag } from "../topology/cluster-view";
import { describeKnownNode } from "../topology/cluster-view";
import { infoNumber } from "../topology/info";
import { countSlots, formatRanges, normaliseRanges, SLOT_COUNT, subtractRanges } from "../topology/slots";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { selfOf, shardsOf } from "./shards";
import type { Shard } from "./shards";
import type { Assertion, Violation, Verdict } from "./verdict";
import {
  assertion,
  violationsOf,
  listNames,
  notLoading,
  reachable,
  replicationHealth,
  sameSettings,
  sameVersion,
  makeVerdict,
  zonesKnown,
} from "./verdict";

export function clusterVerdict(facts: DeploymentFacts): Verdict {
  const shards = shardsOf(facts);
  return makeVerdict(
    facts,
    [
      reachable(facts),
      notLoading(facts),
      stateOk(facts),
      slotsCovered(facts),
      noneFailing(facts),
      viewsAgree(facts),
      members(facts),
      oneOwner(facts),
      noMoves(facts),
      primaryCount(facts, shards),
      replicaCount(facts, shards),
      ...replicationHealth(facts, shards),
      zonesKnown(facts),
      replicaElsewhere(facts, shards),
      zonesApart(facts, shards),
      sameVersion(facts),
      ...sameSettings(facts),
    ],
    shards,
  );
}

function stateOk({ nodes }: DeploymentFacts): Assertion {
  const faults = violationsOf(
    nodes,
    ({ clusterInfo }) => clusterInfo,
    (info) => {
      const state = info.get("cluster_state");
      return state === "ok" ? undefined : `says ${state ?? "nothing"}`;
    },
  );
  return assertion("state-ok", "every node says the cluster's state is ok", "cluster_state ok", faults, "ok");
}

function slotsCovered({ nodes }: DeploymentFacts): Assertion {
  const faults = violationsOf(
    nodes,
    ({ clusterInfo }) => clusterInfo,
    (info) => {
      const assigned = infoNumber(info, "cluster_slots_assigned");
      const ok = infoNumber(info, "cluster_slots_ok");
      return assigned === SLOT_COUNT && ok === SLOT_COUNT ? undefined : `${assigned ?? "?"} assigned, ${ok ?? "?"} ok`;
    },
  );
  return assertion(
    "slots-covered",
    "every node sees all slots assigned and ok",
    `${SLOT_COUNT} assigned, ${SLOT_COUNT} ok`,
    faults,
    `${SLOT_COUNT} assigned, ${SLOT_COUNT} ok`,
  );
}

const TROUBLES: Readonly<Record<FailureFlag, string>> = {
  suspected: "suspects",
  failed: "counts as failed",
  handshake: "is still shaking hands with",
  "no-address": "has no address for",
};

/** By every node's own view: nobody suspected or failed, and a bus link to everybody. */
function noneFailing({ nodes }: DeploymentFacts): Assertion {
  const nameOf = namesById(nodes);
  const name = (id: string): string => nameOf.get(id) ?? `${id.slice(0, 8)}…`;
  const faults = violationsOf(
    nodes,
    ({ view }) => view,
    (view) => {
      const troubles = view.unhealthy.map(({ id, flag }) => `${TROUBLES[flag]} ${name(id)}`);
      const failed = new Set(view.unhealthy.map(({ id }) => id));
      const unlinked = view.unlinked.filter((id) => !failed.has(id)).map(name);
      const all = [...troubles, ...(unlinked.length === 0 ? [] : [`has no link to ${listNames(unlinked)}`])];
      return all.length === 0 ? undefined : all.slice(0, 4).join(", ");
    },
  );
  return assertion("none-failing", "no node counts any other as failing", "none", faults, "none");
}

/** The topologies there are, the commonest first, and which nodes hold each. */
function topologies(nodes: readonly NodeFacts[]): { topology: Topology; holders: string[] }[] {
  const groups = new Map<string, { topology: Topology; holders: string[] }>();
  for (const { node, view } of nodes) {
    if (!view.known) continue;
    const group = groups.get(view.value.topology.fingerprint) ?? { topology: view.value.topology, holders: [] };
    group.holders.push(node.name);
    groups.set(view.value.topology.fingerprint, group);
  }
  return [...groups.values()].sort((a, b) => b.holders.length - a.holders.length);
}

function viewsAgree({ nodes }: DeploymentFacts): Assertion {
  const unread = violationsOf(
    nodes,
    ({ view }) => view,
    () => undefined,
  );
  const [common, ...others] = topologies(nodes);
  const differing = others.flatMap(({ topology, holders }) =>
    holders.map((node): Violation => ({
      node,
      problem: common === undefined ? "differs" : firstDifference(topology, common.topology),
    })),
  );
  return assertion(
    "views-agree",
    "all nodes agree on ids, roles, slots and epochs",
    "one view",
    [...unread, ...differing],
    "one view",
  );
}

function firstDifference(topology: Topology, common: Topology): string {
  for (const [id, node] of topology.nodes) {
    const there = common.nodes.get(id);
    if (there === undefined) return `knows ${describeKnownNode(node)}, which most do not`;
    if (describeKnownNode(there) !== describeKnownNode(node))
      return `has ${describeKnownNode(node)}; most have ${describeKnownNode(there)}`;
  }
  const missing = [...common.nodes.values()].find(({ id }) => !topology.nodes.has(id));
  return missing === undefined ? "differs" : `does not know ${describeKnownNode(missing)}`;
}

/** The nodes asked are all the nodes there are: nobody unknown takes part, nobody given is missing. */
function members({ nodes }: DeploymentFacts): Assertion {
  const nameOf = namesById(nodes);
  const unread = violationsOf(
    nodes,
    ({ view }) => view,
    () => undefined,
  );
  const faults = topologies(nodes).flatMap(({ topology, holders }) => {
    const strangers = [...topology.nodes.values()]
      .filter(({ id }) => !nameOf.has(id))
      .map(({ id, address }) => `${id.slice(0, 8)}… at ${address.host}:${address.port}`);
    const missing = [...nameOf].filter(([id]) => !topology.nodes.has(id)).map(([, name]) => name);
    const what = [
      ...(strangers.length === 0 ? [] : [`knows ${listNames(strangers)}, which was not asked`]),
      ...(missing.length === 0 ? [] : [`does not know ${listNames(missing)}`]),
    ].join(" and ");
    return what === "" ? [] : holders.map((node): Violation => ({ node, problem: what }));
  });
  return assertion(
    "members",
    "the cluster consists of exactly the nodes asked",
    `${nodes.length} nodes`,
    [...unread, ...faults],
    `${nodes.length} nodes`,
  );
}

function namesById(nodes: readonly NodeFacts[]): Map<string, string> {
  return new Map(nodes.flatMap(({ node, view }) => (view.known ? [[view.value.selfId, node.name] as const] : [])));
}

/** By the primaries' own word on what they serve. */
function oneOwner({ nodes }: DeploymentFacts): Assertion {
  const claims = nodes
    .flatMap((each) => (selfOf(each)?.slots ?? []).map((range) => ({ ...range, node: each.node.name })))
    .sort((a, b) => a.from - b.from);
  const faults: Violation[] = violationsOf(
    nodes,
    ({ view }) => view,
    () => undefined,
  );
  for (const [index, claim] of claims.entries()) {
    for (const next of claims.slice(index + 1)) {
      if (next.from > claim.to) break;
      faults.push({
        node: next.node,
        problem: `serves ${formatRanges([{ from: next.from, to: Math.min(next.to, claim.to) }])} as ${claim.node} does`,
      });
    }
  }
  const gaps = subtractRanges([{ from: 0, to: SLOT_COUNT - 1 }], claims);
  if (gaps.length > 0)
    faults.push({
      node: "",
      problem: `${countSlots(gaps)} slots are served by nobody: ${formatRanges(normaliseRanges(gaps).slice(0, 5))}`,
    });
  return assertion(
    "one-owner",
    "every slot has exactly one primary",
    `${SLOT_COUNT} slots served once`,
    faults,
    `${SLOT_COUNT} slots served once`,
  );
}

function noMoves({ nodes }: DeploymentFacts): Assertion {
  const nameOf = namesById(nodes);
  const faults = violationsOf(
    nodes,
    ({ view }) => view,
    ({ openSlots }) => {
      const [move] = openSlots;
      if (move === undefined) return undefined;
      const peer = nameOf.get(move.peerId) ?? `${move.peerId.slice(0, 8)}…`;
      const words =
        move.direction === "migrating"
          ? `is handing slot ${move.slot} to ${peer}`
          : `is taking slot ${move.slot} from ${peer}`;
      return openSlots.length === 1 ? words : `${words} and ${openSlots.length - 1} more`;
    },
  );
  return assertion("no-moves", "no slot is being moved", "none", faults, "none");
}

function primaryCount({ nodes, shape }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const serving = shards.filter(({ primary, slots }) => primary !== undefined && slots.length > 0);
  const idle = shards.flatMap(({ primary, slots }): Violation[] =>
    primary !== undefined && slots.length === 0 ? [{ node: primary, problem: "is a primary without slots" }] : [],
  );
  const right = shape.primaries === undefined ? serving.length >= 3 : serving.length === shape.primaries;
  const faults = [
    ...violationsOf(
      nodes,
      ({ view }) => view,
      () => undefined,
    ),
    ...idle,
    ...(right ? [] : [{ node: "", problem: `${serving.length} primaries` }]),
  ];
  return assertion(
    "primaries",
    "there are as many primaries as wanted",
    shape.primaries === undefined ? "3 or more" : String(shape.primaries),
    faults,
    String(serving.length),
  );
}

function replicaCount({ nodes, shape }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const serving = shards.filter(({ slots }) => slots.length > 0);
  const inferred = Math.max(1, ...serving.map(({ replicas }) => replicas.length));
  const wanted = shape.replicasPerPrimary ?? inferred;
  const faults = [
    ...violationsOf(
      nodes,
      ({ view }) => view,
      () => undefined,
    ),
    ...serving.flatMap(({ primary, replicas }): Violation[] =>
      replicas.length === wanted ? [] : [{ node: primary ?? "", problem: `has ${replicas.length} replicas` }],
    ),
    ...shards.flatMap(({ slots, replicas }): Violation[] =>
      slots.length === 0 ? replicas.map((node) => ({ node, problem: "follows no primary that serves slots" })) : [],
    ),
  ];
  const expected =
    shape.replicasPerPrimary === undefined ? `the same for each, at least 1 (${inferred})` : String(wanted);
  return assertion("replicas", "every primary has as many replicas as wanted", expected, faults, `${wanted} each`);
}

function replicaElsewhere(facts: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const what = "every primary has a replica in another zone";
  if (facts.shape.replicasPerPrimary === 0) return assertion("replica-elsewhere", what, "no replicas are wanted", []);
  const zone = zoneLookup(facts);
  const faults = shards.flatMap(({ primary, replicas }): Violation[] => {
    if (primary === undefined) return [];
    const elsewhere = replicas.filter(
      (replica) => zone(replica) !== undefined && zone(primary) !== undefined && zone(replica) !== zone(primary),
    );
    return elsewhere.length > 0 ? [] : [{ node: primary, problem: "has none" }];
  });
  return assertion("replica-elsewhere", what, "each", [...unlearntViews(facts), ...faults], "each");
}

function zonesApart(facts: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const zone = zoneLookup(facts);
  const faults = shards.flatMap(({ primary, replicas }) =>
    replicas.flatMap((replica): Violation[] => {
      const here = zone(replica);
      if (here === undefined) return [{ node: replica, problem: "its zone is unknown" }];
      return primary !== undefined && here === zone(primary)
        ? [{ node: replica, problem: `is in ${here}, as its primary ${primary}` }]
        : [];
    }),
  );
  return assertion(
    "zones-apart",
    "no replica shares its primary's zone",
    "none",
    [...unlearntViews(facts), ...faults],
    "none",
  );
}

function unlearntViews({ nodes }: DeploymentFacts): Violation[] {
  return violationsOf(
    nodes,
    ({ view }) => view,
    () => undefined,
  );
}

function zoneLookup({ nodes }: DeploymentFacts): (name: string) => string | undefined {
  const zones = new Map(nodes.map(({ node }) => [node.name, node.zone]));
  return (name) => zones.get(name);
}
