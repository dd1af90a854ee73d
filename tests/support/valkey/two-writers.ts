/** Finds out whether two nodes took writes to one key in the same time. Pure. */
import { groupBy } from "../../../lib/group-by";

/** A write that a node acknowledged. */
export interface Ack {
  readonly node: string;
  readonly key: string;
  /** Unix time by the node's clock, milliseconds. */
  readonly at: number;
}

/** Seconds and microseconds, as TIME replies. */
const TIME = /^(\d{10})\n(\d{1,6})$/;

/**
 * The acknowledged writes in what valkey-cli prints for rounds of TIME and one SET for each key.
 * @param node that was asked
 */
export function acksOf(node: string, keys: readonly string[], printed: string): Ack[] {
  const rounds = printed.split(/(?=^\d{10}\n\d{1,6}\n)/m);
  return rounds.flatMap((round) => {
    // An error is followed by an empty line.
    const [seconds = "", microseconds = "", ...replies] = round.split("\n").filter((line) => line !== "");
    if (!TIME.test(`${seconds}\n${microseconds}`) || replies.length !== keys.length) return [];
    const at = Number(seconds) * 1000 + Number(microseconds) / 1000;
    return keys.flatMap((key, index) => (replies[index] === "OK" ? [{ node, key, at }] : []));
  });
}

/** Two nodes that took writes to one key in the same time. */
export interface Overlap {
  readonly key: string;
  /** The node that took the first write, and the one that took its first write while the other still took some. */
  readonly nodes: readonly [string, string];
  readonly milliseconds: number;
}

/** Keys to which a node acknowledged a write between two writes of another node. */
export function overlappingWriters(acks: readonly Ack[]): Overlap[] {
  return [...groupBy(acks, ({ key }) => key)].flatMap(([key, ofKey]): Overlap[] => {
    const spans = [...groupBy(ofKey, ({ node }) => node)]
      .map(([node, own]) => {
        const times = own.map(({ at }) => at);
        return { node, first: Math.min(...times), last: Math.max(...times) };
      })
      .sort((a, b) => a.first - b.first);
    return spans.flatMap((later, index) =>
      spans
        .slice(0, index)
        .filter(({ last }) => later.first < last)
        .map(({ node, last }) => ({
          key,
          nodes: [node, later.node],
          milliseconds: Math.min(last, later.last) - later.first,
        })),
    );
  });
}
