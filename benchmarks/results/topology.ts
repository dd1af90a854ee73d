import type { TopologyRecord } from "../../valkey/verification/topology-record";
import type { MeasuredTopology } from "./schema";

/** Numbers of keys are null, because keys are counted later. */
export function asMeasuredTopology(topology: TopologyRecord): MeasuredTopology {
  return { ...topology, nodes: topology.nodes.map((node) => ({ ...node, keysAfter: null })) };
}
