/** Topologies of measured deployments. Pure. */
import type { TopologyRecord } from "../../valkey/verification/topology-record";
import type { MeasuredTopology } from "./schema";

/** A verified topology in the form of results, before its keys are counted. */
export function asMeasuredTopology(topology: TopologyRecord): MeasuredTopology {
  return { ...topology, nodes: topology.nodes.map((node) => ({ ...node, keysAfter: null })) };
}
