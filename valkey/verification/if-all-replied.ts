/**
 * Facts as if silent nodes replied and were as the others know them. An assertion that holds for these facts fails only
 * because nodes are silent.
 */
import { nodeNameAt } from "../node";
import { type Observation, mapObservation, observed } from "../observation";
import { infoFields } from "../topology/replies";
import type { KnownNode, Topology } from "../topology/cluster-view";
import { membersById, topologies } from "./cluster-verdict";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { followedBy } from "./replication-verdict";
import { selfOf } from "./shards";

type Info = ReadonlyMap<string, string>;

export const isSilent = ({ info }: NodeFacts): boolean => !info.known;

export function factsIfAllReplied(facts: DeploymentFacts): DeploymentFacts {
  const { mode, nodes, sentinels } = facts;
  const silent = nodes.filter(isSilent).map(({ node }) => node);
  const isSilentAt = (host: string, port: number): boolean => nodeNameAt(silent, host, port) !== undefined;
  return {
    ...facts,
    nodes: mode === "cluster" ? clusterNodes(nodes) : replicationNodes(nodes, isSilentAt),
    sentinels: sentinels && {
      ...sentinels,
      nodes: sentinels.nodes.map((each) => ({
        ...each,
        view: mapObservation(each.view, (view) => ({
          ...view,
          flags: isSilentAt(view.primary.host, view.primary.port) ? [] : view.flags,
          replicas: view.replicas.map((replica) =>
            isSilentAt(replica.endpoint.host, replica.endpoint.port) ? { ...replica, flags: [] } : replica,
          ),
        })),
      })),
    },
  };
}

/** INFO of a silent node, from that of a node that replies, because both should have one version. */
function infoLike(nodes: readonly NodeFacts[], own: Readonly<Record<string, string>>): Observation<Info> {
  const some = nodes.find(({ info }) => info.known);
  const others = some?.info.known === true ? [...some.info.value].filter(([key]) => !/^(run_id|slave)/.test(key)) : [];
  return observed(new Map([...others, ["loading", "0"], ...Object.entries(own)]));
}

const PRIMARY = { role: "master", master_repl_offset: "0" };
const REPLICA = { role: "slave", slave_read_only: "1" };
const LINKED = { master_link_status: "up", slave_repl_offset: "0", master_last_io_seconds_ago: "0" };

const withInfo = (node: NodeFacts, own: Readonly<Record<string, string>>): NodeFacts => ({
  ...node,
  info: mapObservation(node.info, (info) => new Map([...info, ...Object.entries(own)])),
});

function clusterNodes(nodes: readonly NodeFacts[]): NodeFacts[] {
  const [common] = topologies(nodes);
  if (common === undefined) return [...nodes];
  const { topology } = common;
  const names = membersById(nodes);
  const silent = new Set(nodes.filter(isSilent).map(({ node }) => node.name));
  const isSilentId = (id: string): boolean => silent.has(names.get(id) ?? "");
  const hasLostSlots = [...topology.nodes.values()].some(({ id, slots }) => slots.length > 0 && isSilentId(id));
  const nodesBack = withReturning(nodes, topology, isSilentId);
  const view = nodes.flatMap((each) => (each.view.known ? [each.view.value] : []))[0];
  return nodes.map((each): NodeFacts => {
    if (isSilent(each)) {
      const known = [...nodesBack.values()].find(({ id }) => names.get(id) === each.node.name);
      if (view === undefined || known === undefined) return each;
      const own = { ...view, selfId: known.id, unhealthy: [], unlinked: [], openSlots: [] };
      const info = infoLike(nodes, known.role === "primary" ? PRIMARY : { ...REPLICA, ...LINKED });
      return { ...each, view: observed({ ...own, topology: { ...topology, nodes: nodesBack } }), info };
    }
    const linked = isSilentId(selfOf(each)?.primaryId ?? "") ? withInfo(each, LINKED) : each;
    const seen = mapObservation(each.view, (own) => ({
      ...own,
      unhealthy: own.unhealthy.filter(({ id }) => !isSilentId(id)),
      unlinked: own.unlinked.filter((id) => !isSilentId(id)),
    }));
    return { ...linked, view: seen, ...(hasLostSlots ? stateIfAllServed(each) : {}) };
  });
}

/** A silent node whose slots a replica took over becomes a replica of that node when it replies. */
function withReturning(
  nodes: readonly NodeFacts[],
  topology: Topology,
  isSilentId: (id: string) => boolean,
): ReadonlyMap<string, KnownNode> {
  const all = new Map(topology.nodes);
  for (const former of topology.nodes.values()) {
    if (!isSilentId(former.id) || former.role !== "primary" || former.slots.length > 0) continue;
    const followed = new Set([...all.values()].map(({ primaryId }) => primaryId));
    const successor = nodes
      .flatMap((each) => selfOf(each) ?? [])
      .find(({ id, slots, epoch }) => slots.length > 0 && epoch > former.epoch && !followed.has(id));
    if (successor !== undefined) all.set(former.id, { ...former, role: "replica", primaryId: successor.id });
  }
  return all;
}

/** With a lost shard, a cluster may refuse everything. */
function stateIfAllServed({ clusterInfo, write }: NodeFacts): Partial<NodeFacts> {
  const served = (info: Info): Info =>
    new Map([...info, ["cluster_state", "ok"], ["cluster_slots_ok", info.get("cluster_slots_assigned") ?? ""]]);
  return {
    clusterInfo: mapObservation(clusterInfo, served),
    write: write?.known === false && write.why.startsWith("CLUSTERDOWN") ? observed(true) : write,
  };
}

function replicationNodes(
  nodes: readonly NodeFacts[],
  isSilentAt: (host: string, port: number) => boolean,
): NodeFacts[] {
  const lost = lostPrimary(nodes);
  const source = nodes.find(
    ({ info }) => info.known && info.value.get("role") === (lost === undefined ? "master" : "slave"),
  );
  const replid = (source?.info.known === true ? source.info.value.get("master_replid") : undefined) ?? "";
  const online = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`slave${10_000 + index}`, "state=online"]));
  const silentCount = nodes.filter(isSilent).length;
  return nodes.map((each): NodeFacts => {
    const { info, node } = each;
    if (!info.known) {
      const own = node.name === lost ? { ...PRIMARY, ...online(nodes.length - 1) } : { ...REPLICA, ...LINKED };
      return { ...each, info: infoLike(nodes, { ...own, master_replid: replid }) };
    }
    if (info.value.get("role") === "slave")
      return followedBy(nodes, info.value) === lost && lost !== undefined ? withInfo(each, LINKED) : each;
    const replying = [...info.value].filter(([key, value]) => {
      const fields = infoFields(value);
      return !/^slave\d+$/.test(key) || !isSilentAt(fields.get("ip") ?? "", Number(fields.get("port")));
    });
    return withInfo({ ...each, info: observed(new Map(replying)) }, online(lost === undefined ? silentCount : 0));
  });
}

/** In replication mode: name of the silent node that replicas follow. Undefined if a primary replies. */
export function lostPrimary(nodes: readonly NodeFacts[]): string | undefined {
  const known = nodes.flatMap(({ info }) => (info.known ? [info.value] : []));
  if (known.some((info) => info.get("role") === "master")) return undefined;
  const silent = new Set(nodes.filter(isSilent).map(({ node }) => node.name));
  return known.map((info) => followedBy(nodes, info)).find((name) => name !== undefined && silent.has(name));
}
