import { describe, expect, it } from "vitest";
import { acksOf, overlappingWriters } from "../../../bench/rows/partitions";

describe("acknowledged writes in the output of valkey-cli", () => {
  it("are those of rounds with a reply for each key", () => {
    const printed = [
      ...["1764313200", "500000", "OK", "MOVED 5 10.0.0.1:6379", "", "OK"],
      ...["1764313201", "7", "CLUSTERDOWN The cluster is down", "", "OK", "OK"],
      // The output ends in the middle of a round.
      ...["1764313202", "0", "OK"],
    ];
    expect(acksOf("a", ["x", "y", "z"], printed.join("\n"))).toEqual([
      { node: "a", key: "x", at: 1764313200500 },
      { node: "a", key: "z", at: 1764313200500 },
      { node: "a", key: "y", at: 1764313201000.007 },
      { node: "a", key: "z", at: 1764313201000.007 },
    ]);
  });
});

describe("overlapping writers", () => {
  const acks = (node: string, key: string, ...times: readonly number[]): { node: string; key: string; at: number }[] =>
    times.map((at) => ({ node, key, at }));

  it("are nodes of which one takes a write between two writes of the other", () => {
    expect(overlappingWriters([...acks("a", "x", 1, 2, 9), ...acks("b", "x", 5)])).toEqual([
      { key: "x", nodes: ["a", "b"], milliseconds: 0 },
    ]);
    expect(overlappingWriters([...acks("b", "x", 5, 6), ...acks("a", "x", 1, 5.5)])).toEqual([
      { key: "x", nodes: ["a", "b"], milliseconds: 0.5 },
    ]);
  });

  it("are none after failovers, or where nodes write to different shards", () => {
    expect(overlappingWriters([...acks("a", "x", 1, 2), ...acks("b", "x", 3, 4), ...acks("c", "x", 5)])).toEqual([]);
    expect(overlappingWriters([...acks("a", "x", 1, 9), ...acks("b", "y", 5)])).toEqual([]);
  });
});
