/** Facts of deployments that exist only in tests. */
import { planCluster } from "../../../valkey/topology/cluster-plan";
import { ViewParser } from "../../../valkey/topology/cluster-view";
import { rotateOverZones } from "../../../valkey/topology/placement";
import { formatRanges } from "../../../valkey/topology/slots";
import type { DeploymentFacts, NodeFacts } from "../../../valkey/verification/facts";
import { judgeFacts } from "../../../valkey/verification/verify";
import { observed } from "../../../valkey/observation";
import { type FakeNode, fakeView } from "./cluster-text";

export const CLUSTER_INFO = new Map([
  ["cluster_state", "ok"],
  ["cluster_slots_assigned", "16384"],
  ["cluster_slots_ok", "16384"],
]);

/** Facts of a healthy cluster of any size. All nodes share one view, as `gatherFacts` shares it. */
export function clusterFacts(primaries: number, replicasPerPrimary: number): DeploymentFacts {
  const shape = { primaries, replicasPerPrimary };
  const placed = rotateOverZones(
    Array.from({ length: primaries * (1 + replicasPerPrimary) }, (_, i) => `n-${i}`),
    shape,
    ["a", "b", "c"],
  );
  const plan = planCluster(placed, shape);
  const primaryOf = new Map(
    plan.shards.flatMap(({ primary, replicas }) => replicas.map((replica) => [replica, primary])),
  );
  const slots = new Map(plan.shards.map((shard) => [shard.primary, formatRanges([shard.slots])]));
  const nodes: FakeNode[] = placed.map(({ name }) => {
    const primary = primaryOf.get(name);
    return primary === undefined ? { name, slots: slots.get(name) ?? "" } : { name, primary };
  });
  const parser = new ViewParser();
  const view = fakeView(placed[0]?.name ?? "", nodes, parser);
  const ids = [...view.topology.nodes.keys()];
  return {
    deployment: "cluster",
    mode: "cluster",
    shape,
    directives: new Map(),
    skippedAssertions: [],
    nodes: placed.map(({ name, zone }): NodeFacts => ({
      node: { name, zone, machine: "m", endpoint: { host: "10.0.0.1", port: 7000 } },
      info: observed(infoReply(primaryOf.has(name) ? "replica" : "primary")),
      clusterInfo: observed(CLUSTER_INFO),
      view: observed({ ...view, selfId: ids.find((id) => id.endsWith(name.slice(2).padStart(39, "0"))) ?? "" }),
      settings: observed(new Map([["maxmemory", "0"]])),
      keys: observed(10),
      write: primaryOf.has(name) ? undefined : observed(true),
    })),
  };
}

export function viewedNodes(facts: DeploymentFacts): FakeNode[] {
  const { shards } = judgeFacts(facts);
  return facts.nodes.map(({ node: { name } }): FakeNode => {
    const shard = shards.find(({ primary, replicas }) => primary === name || replicas.includes(name));
    return shard?.primary === name
      ? { name, slots: formatRanges(shard.slots) }
      : { name, primary: shard?.primary ?? "" };
  });
}

export const patch =
  (name: string, changes: Partial<FakeNode>) =>
  (nodes: readonly FakeNode[]): FakeNode[] =>
    nodes.map((each) => (each.name === name ? { ...each, ...changes } : each));

export function infoReply(role: "primary" | "replica", changes: Record<string, string> = {}): Map<string, string> {
  const own = {
    server_name: "valkey",
    valkey_version: "9.1.2",
    loading: "0",
    used_memory: "1000000",
    uptime_in_seconds: "100",
    master_replid: "abc",
    master_repl_offset: "5000",
  };
  const replica = {
    role: "slave",
    master_link_status: "up",
    slave_repl_offset: "5000",
    master_last_io_seconds_ago: "1",
    slave_read_only: "1",
    master_host: "10.0.0.1",
    master_port: "7000",
  };
  const primary = {
    role: "master",
    slave0: "ip=10.0.0.2,port=7000,state=online,offset=5000,lag=0",
    slave1: "ip=10.0.0.3,port=7000,state=online,offset=5000,lag=0",
  };
  return new Map(Object.entries({ ...own, ...(role === "primary" ? primary : replica), ...changes }));
}
