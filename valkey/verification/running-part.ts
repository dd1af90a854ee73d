/** Judges whether the running nodes of a deployment have all its data, so that the other nodes are not needed. */
import { compact } from "../../lib/compact";
import { rowOf } from "./assertions";
import type { ClusterView } from "../topology/cluster-view";
import { formatRanges } from "../topology/slots";
import type { DeploymentFacts } from "./facts";
import { judgeFacts } from "./verify";
import { listNames } from "./violations";

interface NamedView {
  readonly name: string;
  readonly view: ClusterView;
}

/** Undefined if the loss of the other nodes would lose no data. @param facts of running nodes */
export function whyPartLacksData(facts: DeploymentFacts): string | undefined {
  const failed = judgeFacts(facts).assertions.filter(({ id, pass }) => rowOf(id)?.part && !pass);
  const views = facts.nodes.flatMap(({ node, view }) => (view.known ? [{ name: node.name, view: view.value }] : []));
  const problems = [
    ...failed.map(({ id, found }) => `${id}: ${found}`),
    ...absentNodesInUse(views),
    ...disagreements(views),
  ];
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** A running node does not consider an absent node failed, sees slots there, or reports a running node as failing. */
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

/** Absent nodes are not compared: a node that joined after a failure does not learn which primary they had. */
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
