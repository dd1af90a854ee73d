/** Nodes that do not reply: what they were, and since when the others have not heard from them. */
import { compact } from "../../lib/compact";
import { formatDuration } from "../../lib/units";
import type { KnownNode } from "../topology/cluster-view";
import { infoFields, infoNumber } from "../topology/replies";
import { formatRanges } from "../topology/slots";
import { namesById, topologies } from "./cluster-verdict";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { isSilent, lostPrimary } from "./if-all-replied";
import { followedBy } from "./replication-verdict";
import { whySilent } from "./shared-assertions";

/** A sentence for each node that does not reply. */
export function describeSilence(facts: DeploymentFacts): string[] {
  return facts.nodes.filter(isSilent).map((each) => {
    const { name } = each.node;
    const seconds = secondsSilent(facts, name);
    const since = seconds === undefined ? "" : `. The other nodes last heard from it ${formatDuration(seconds)} ago`;
    return `${name}${describeRole(facts, name)} is silent: ${whySilent(each)}${since}.`;
  });
}

function describeRole({ mode, nodes }: DeploymentFacts, name: string): string {
  if (mode === "replication") return lostPrimary(nodes) === name ? ", the primary," : "";
  const known = knownNode(nodes, name);
  if (known === undefined) return "";
  if (known.role === "replica")
    return `, a replica of ${namesById(nodes).get(known.primaryId ?? "") ?? "an unknown node"},`;
  return known.slots.length === 0 ? ", a former primary," : `, the primary of slots ${formatRanges(known.slots)},`;
}

export function knownNode(nodes: readonly NodeFacts[], name: string): KnownNode | undefined {
  const names = namesById(nodes);
  return knownNodes(nodes).find(({ id }) => names.get(id) === name);
}

export function knownNodes(nodes: readonly NodeFacts[]): readonly KnownNode[] {
  return [...(topologies(nodes)[0]?.topology.nodes.values() ?? [])];
}

/** Seconds since any other node heard from a node. Undefined if no node tells. */
export function secondsSilent({ mode, nodes }: DeploymentFacts, name: string): number | undefined {
  const id = mode === "cluster" ? knownNode(nodes, name)?.id : undefined;
  const told = nodes.flatMap((each) =>
    mode === "cluster" ? heardInCluster(each, id) : heardInReplication(nodes, each, name),
  );
  return told.length === 0 ? undefined : Math.min(...told);
}

function heardInCluster({ info, view }: NodeFacts, id: string | undefined): number[] {
  const now = info.known ? infoNumber(info.value, "server_time_usec") : undefined;
  const at = view.known ? view.value.heardAt.get(id ?? "") : undefined;
  return now === undefined || at === undefined ? [] : [Math.max(0, (now / 1000 - at) / 1000)];
}

function heardInReplication(nodes: readonly NodeFacts[], { info }: NodeFacts, name: string): number[] {
  if (!info.known) return [];
  if (info.value.get("role") === "slave") {
    if (followedBy(nodes, info.value) !== name) return [];
    const isUp = info.value.get("master_link_status") === "up";
    return compact([infoNumber(info.value, isUp ? "master_last_io_seconds_ago" : "master_link_down_since_seconds")]);
  }
  const port = nodes.find(({ node }) => node.name === name)?.node.endpoint.port;
  const replicas = [...info.value].flatMap(([key, value]) => (/^slave\d+$/.test(key) ? [infoFields(value)] : []));
  const [own, ...others] = replicas.filter((fields) => Number(fields.get("port")) === port);
  return own === undefined || others.length > 0 ? [] : compact([infoNumber(own, "lag")]);
}
