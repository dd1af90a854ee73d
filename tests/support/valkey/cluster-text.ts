/** CLUSTER NODES of clusters that exist only in tests, as any of their nodes would print it. */
import { ViewParser } from "../../../valkey/topology/cluster-view";
import type { ClusterView } from "../../../valkey/topology/cluster-view";

export interface FakeNode {
  readonly name: string;
  readonly primary?: string;
  readonly slots?: string;
  readonly epoch?: number;
  readonly flags?: string;
  readonly link?: "connected" | "disconnected";
  readonly host?: string;
  readonly hostname?: string;
  readonly port?: number;
}

/** A node ID from the number in a node's name: forty hexadecimal digits. */
export function nodeIdOf(name: string): string {
  return (/\d+/.exec(name)?.[0] ?? "").padStart(40, "0");
}

export function clusterText(self: string, nodes: readonly FakeNode[]): string {
  return nodes
    .map(
      ({
        name,
        primary,
        slots = "",
        epoch = 1,
        flags,
        link = "connected",
        host = "10.0.0.1",
        hostname,
        port = 7000,
      }) => {
        const role = primary === undefined ? "master" : "slave";
        const all = [...(name === self ? ["myself"] : []), role, ...(flags === undefined ? [] : [flags])].join(",");
        const address = [`${host}:${port}@${port + 10_000}`, ...(hostname === undefined ? [] : [hostname])].join(",");
        return `${nodeIdOf(name)} ${address} ${all} ${primary === undefined ? "-" : nodeIdOf(primary)} 0 0 ${epoch} ${link} ${slots}`.trim();
      },
    )
    .join("\n");
}

export function fakeView(self: string, nodes: readonly FakeNode[], parser = new ViewParser()): ClusterView {
  return parser.parse(clusterText(self, nodes));
}
