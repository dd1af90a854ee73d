/** Judges whether the running part of a deployment can do without its other nodes. Pure. */
import { compact } from "../../lib/compact";
import type { AssertionId } from "./assertion";
import { listNames } from "./assertion";
import type { ClusterView } from "../topology/cluster-view";
import { formatRanges } from "../topology/slots";
import type { DeploymentFacts } from "./facts";
import { judgeFacts } from "./verify";

/** A node's name and its view of the cluster. */
interface NamedView {
  readonly name: string;
  readonly view: ClusterView;
}

/** Assertions that must hold for the running part by itself. Together they mean that the part has all data. */
const NEEDED: ReadonlySet<string> = new Set<AssertionId>([
  "reachable",
  "not-loading",
  // In a cluster: each slot has one primary in this part, and nobody moves slots.
  "state-ok",
  "slots-covered",
  "primaries",
  "one-owner",
  "no-moves",
  // In replication mode: this part has the only primary, which lists no other replica than those of this part.
  "one-primary",
  "one-data-set",
  "all-online",
  "links-up",
  "lag-bounded",
]);

/**
 * Reason why the running part may lack data of the other nodes, or may still work with one of them. Undefined if no data
 * would be lost with the other nodes.
 * @param facts facts about the running nodes, with the wanted number of primaries but without a number of replicas
 */
export function whyPartLacksData(facts: DeploymentFacts): string | undefined {
  const failed = judgeFacts(facts).assertions.filter(({ id, pass }) => NEEDED.has(id) && !pass);
  const views = facts.nodes.flatMap(({ node, view }) => (view.known ? [{ name: node.name, view: view.value }] : []));
  const problems = [
    ...failed.map(({ id, found }) => `${id}: ${found}`),
    ...absentNodesInUse(views),
    ...disagreements(views),
  ];
  return problems.length === 0 ? undefined : problems.join("; ");
}

/**
 * Nodes of a cluster that are not in this part, but that a node of this part does not consider failed, or that still own
 * slots. Also nodes of this part that a different node considers failing.
 */
function absentNodesInUse(views: readonly NamedView[]): string[] {
  const present = new Map(views.map(({ name, view }) => [view.selfId, name]));
  return views.flatMap(({ name, view: { topology, unhealthy } }) => {
    const failed = new Set(unhealthy.flatMap(({ id, flag }) => (flag === "failed" ? [id] : [])));
    const flagged = unhealthy.flatMap(({ id }) => present.get(id) ?? []);
    const used = [...topology.nodes.values()].filter(
      ({ id, slots }) => !present.has(id) && (!failed.has(id) || slots.length > 0),
    );
    const nameOf = (id: string, hostname: string | undefined): string =>
      hostname?.split(".", 1)[0] ?? `${id.slice(0, 8)}…`;
    return compact([
      flagged.length === 0 ? undefined : `${name} reports ${listNames(flagged)} as failing`,
      used.length === 0
        ? undefined
        : `${name} does not consider ${listNames(used.map(({ id, address }) => nameOf(id, address.hostname)))} failed yet`,
    ]);
  });
}

/**
 * Nodes that see a node of this part differently than this node sees itself. Absent nodes are not compared: a node that
 * joined after a node had failed does not learn which primary the failed node had.
 */
function disagreements(views: readonly NamedView[]): string[] {
  const own = new Map(views.map(({ view }) => [view.selfId, describeIn(view, view.selfId)]));
  return views.flatMap(({ name, view }) => {
    const wrong = views.filter(({ view: { selfId } }) => describeIn(view, selfId) !== own.get(selfId));
    return wrong.length === 0
      ? []
      : [`${name} and ${listNames(wrong.map((each) => each.name))} do not agree on roles and slots`];
  });
}

function describeIn({ topology }: ClusterView, id: string): string {
  const known = topology.nodes.get(id);
  return known === undefined
    ? "unknown"
    : [known.role, known.primaryId ?? "-", formatRanges(known.slots), known.epoch].join(" ");
}
