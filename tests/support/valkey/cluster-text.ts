/** CLUSTER NODES of clusters that exist only in tests, as any of their nodes would print it. */
import type { MemberState } from "../../../valkey/membership/member-state";
import { ViewParser, type ClusterView } from "../../../valkey/topology/cluster-view";

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

export const NODES: readonly FakeNode[] = [
  { name: "n-0", slots: "0-5460", epoch: 1 },
  { name: "n-1", slots: "5461-10922", epoch: 2 },
  { name: "n-2", slots: "10923-16383", epoch: 3 },
  { name: "n-3", primary: "n-0", epoch: 1 },
  { name: "n-4", primary: "n-1", epoch: 2 },
];

export const NEW: FakeNode = { name: "n-9", epoch: 0 };

/**
 * States of nodes, each with the view that `known` gives it, which includes itself. The marks of open migrations are
 * part of a node's own line.
 */
export function memberStates(
  nodes: readonly FakeNode[],
  known: (name: string) => readonly FakeNode[] = () => nodes,
  marks: Record<string, string> = {},
  keys: Record<string, number> = {},
): MemberState[] {
  return nodes.map(({ name }): MemberState => {
    const line = (each: FakeNode): FakeNode =>
      each.name === name && marks[name] !== undefined
        ? { ...each, slots: `${each.slots ?? ""} ${marks[name]}`.trim() }
        : each;
    return { name, zone: "a", view: fakeView(name, known(name).map(line)), keys: keys[name] ?? 0 };
  });
}

/** Views in which the named nodes know only themselves, and all other nodes know each other. */
export const alone =
  (...those: string[]) =>
  (name: string): readonly FakeNode[] =>
    those.includes(name) ? [...NODES, NEW].filter((node) => node.name === name) : NODES;
