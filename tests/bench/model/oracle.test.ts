import { describe, expect, it } from "vitest";
import { type Fact, violations } from "../../../bench/model/oracle";

const ELECTION = 4000;
const has = (at: number, server: string, ...keys: string[]): Fact => ({ kind: "has", at, server, keys: new Set(keys) });
const fault = (at: number, server: string, ...keys: string[]): Fact => ({
  ...{ kind: "fault", at, server, keys: new Set(keys) },
});
const told = (at: number, server: string, replicas = 0): Fact => ({
  ...{ kind: "acknowledged", at, server, keys: ["w"], replicas },
});
const silent = (at: number, server: string): Fact => ({ kind: "silent", at, server });
const answers = (at: number, server: string): Fact => ({ kind: "answers", at, server });
const promoted = (at: number, server: string, byHand = false): Fact => ({ kind: "promoted", at, server, byHand });

const lost = (facts: readonly Fact[], electionMs?: number): string[] =>
  violations(facts, new Set(), electionMs).map(({ discardedBy }) => discardedBy.join());

describe("an acknowledged write that is gone", () => {
  it("may be lost if faults have destroyed every copy", () => {
    expect(lost([told(0, "a", 1), has(1, "b", "w"), fault(2, "a"), fault(3, "b")])).toEqual([]);
    expect(violations([told(0, "a")], new Set(["w"]), undefined)).toEqual([]);
  });

  it("must not be lost if a server had it, and no fault took it", () => {
    expect(lost([told(0, "a", 1), has(1, "b", "w"), fault(2, "a"), has(3, "b")])).toEqual(["b"]);
    // The disk of a server that was killed still had it.
    expect(lost([told(0, "a"), fault(2, "a", "w"), has(3, "a")])).toEqual(["a"]);
    // A server that clients do not read still has it.
    expect(lost([told(0, "a"), has(1, "a", "w")])).toEqual(["a"]);
  });

  it("may be lost if a fault destroyed the last copy, while a replica synchronized with the server that had it", () => {
    expect(lost([told(0, "a", 1), has(1, "b", "w"), has(2, "b"), fault(3, "a"), has(4, "a")])).toEqual([]);
  });

  it("counts as many copies as it ever had", () => {
    // The copy that it got later was destroyed too; the one that it had before was discarded.
    expect(lost([told(0, "a"), has(1, "b", "w"), fault(2, "a"), has(3, "a", "w"), fault(4, "a"), has(5, "b")])).toEqual(
      ["b"],
    );
    // It was discarded, came again, and was destroyed.
    expect(lost([told(0, "a"), has(1, "a"), has(2, "a", "w"), fault(3, "a")])).toEqual([]);
  });
});

describe("servers that elect", () => {
  const copied = [told(0, "a", 1), has(1, "b", "w"), has(1, "c")];

  it("may go on without servers that are silent for long at the same time", () => {
    const facts = (until: number): Fact[] => [
      ...copied,
      ...[silent(100, "b"), silent(200, "a"), promoted(until, "c"), answers(until + 1, "b"), has(until + 2, "b")],
      ...[answers(until + 3, "a"), has(until + 4, "a")],
    ];
    expect(lost(facts(4300), ELECTION)).toEqual([]);
    expect(lost(facts(4100), ELECTION)).toEqual(["a"]);
    // Nobody elects.
    expect(lost(facts(4300))).toEqual(["a"]);
  });

  it("must not discard what a server that answers has", () => {
    const facts = [...copied, silent(100, "a"), promoted(9000, "c"), has(9001, "b")];
    expect(lost(facts, ELECTION)).toEqual(["a"]);
    // The server with the write was promoted, and gave it up later.
    expect(
      lost([...copied, silent(100, "a"), silent(100, "b"), promoted(9000, "b"), has(9001, "b")], ELECTION),
    ).toEqual(["a"]);
  });

  it("may have a successor of a server that acknowledges a write after a long silence", () => {
    const facts = [silent(0, "a"), promoted(5000, "c"), answers(6000, "a"), told(6100, "a"), has(6200, "a")];
    expect(lost([...facts, has(7000, "a")], ELECTION)).toEqual([]);
    expect(lost([silent(3000, "a"), ...facts.slice(1), has(7000, "a")], ELECTION)).toEqual(["a"]);
  });

  it("may lose what a person discards, who promotes a server without the write", () => {
    const facts = (byHand: boolean): Fact[] => [...copied, promoted(2, "c", byHand), has(3, "a"), has(3, "b")];
    expect(lost(facts(true), ELECTION)).toEqual([]);
    expect(lost(facts(false), ELECTION)).toEqual(["b"]);
  });
});
