import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KeyContent, type KeyWrite, accountForWrites } from "../../../faults/writes/accounting";
import { numberedValue, writeNumberOf } from "../../../faults/writes/commands";
import { forAll } from "../../support/properties";

const write = (number: number, kind: "acknowledged" | "failed" | "unknown"): KeyWrite => ({
  number,
  outcome: kind === "acknowledged" ? { kind } : { kind, error: "timeout" },
});
const one = (writes: readonly KeyWrite[], found: KeyContent): ReturnType<typeof accountForWrites> =>
  accountForWrites(new Map([["k", writes]]), new Map([["k", found]]));
const at = (number: number): KeyContent => ({ kind: "number", number });

/** One write to a key on a primary with a replica that lags, with every way in which a write can end. */
interface Step {
  /** Effect of the write on the server, and whether the client gets a reply. */
  readonly what: "done-and-told" | "done-and-untold" | "refused" | "vanished" | "late";
  /** Whether the replica has the write by then. */
  readonly replicated: boolean;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    what: fc.constantFrom("done-and-told", "done-and-untold", "refused", "vanished", "late"),
    replicated: fc.boolean(),
  }),
  { maxLength: 40 },
);
const ends = fc.constantFrom("nothing", "failover", "all-gone");

/** @returns the client's history, the key's content at the end, and the acknowledged writes that are truly lost */
function simulate(
  all: readonly Step[],
  end: "nothing" | "failover" | "all-gone",
): { writes: KeyWrite[]; found: KeyContent; lost: number[] } {
  const writes: KeyWrite[] = [];
  let [primary, replica] = [0, 0];
  let late: number | undefined;
  for (const [index, { what, replicated }] of all.entries()) {
    const number = index + 1;
    if (what === "done-and-told" || what === "done-and-untold") primary = number;
    if (what === "late") late = number;
    writes.push(write(number, what === "done-and-told" ? "acknowledged" : what === "refused" ? "failed" : "unknown"));
    if (replicated) replica = primary;
    // The client stops writing to a key after an unknown outcome; a late write takes effect after all others.
    if (what !== "done-and-told" && what !== "refused") break;
  }
  if (late !== undefined) primary = late;
  const there = end === "nothing" ? primary : end === "failover" ? replica : 0;
  const lost = writes
    .filter(({ number, outcome }) => outcome.kind === "acknowledged" && number > there)
    .map(({ number }) => number);
  return { writes, found: there === 0 ? { kind: "gone" } : at(there), lost };
}

describe("accounting", () => {
  it("names exactly the lost writes of any simulated history", () => {
    forAll([steps, ends], { numRuns: 2000 }, (all, end) => {
      const { writes, found, lost } = simulate(all, end);
      const result = one(writes, found);
      expect(result.lost.map(({ number }) => number)).toEqual(lost);
      expect(result).toMatchObject({ unread: 0, undecided: 0, anomalies: [] });
      expect(result.acknowledged + result.failed + result.unknown).toBe(writes.length);
    });
  });

  it("never counts a write of unknown or failed outcome as lost, whatever is there", () => {
    const histories = fc.array(fc.constantFrom("acknowledged" as const, "failed" as const, "unknown" as const), {
      maxLength: 30,
    });
    const founds = fc.oneof(
      fc.integer({ min: 1, max: 35 }).map(at),
      fc.constantFrom<KeyContent>({ kind: "gone" }, { kind: "damaged" }, { kind: "unread", reason: "down" }),
    );
    forAll([histories, founds], { numRuns: 2000 }, (kinds, found) => {
      const writes = kinds.map((kind, index) => write(index + 1, kind));
      const { lost } = one(writes, found);
      for (const { number } of lost) expect(writes[number - 1]?.outcome.kind).toBe("acknowledged");
      if (found.kind === "unread") expect(lost).toEqual([]);
      if (found.kind === "number") for (const { number } of lost) expect(number).toBeGreaterThan(found.number);
    });
  });

  it("leaves writes undecided that a write of unknown outcome may have overwritten late", () => {
    expect(one([write(1, "acknowledged"), write(2, "unknown"), write(3, "acknowledged")], at(2))).toMatchObject({
      lost: [],
      undecided: 1,
      unknownDone: 1,
    });
  });

  it("reports contents that no server may have", () => {
    expect(one([write(1, "acknowledged"), write(2, "failed")], at(2))).toMatchObject({
      lost: [],
      anomalies: [expect.stringMatching(/this write was refused/)],
    });
    expect(one([write(1, "acknowledged")], at(7))).toMatchObject({
      lost: [],
      anomalies: [expect.stringMatching(/this write was not sent/)],
    });
    expect(one([write(1, "acknowledged")], { kind: "damaged" })).toMatchObject({
      lost: [{ key: "k", number: 1, found: "damaged" }],
    });
  });

  it("counts keys that could not be read", () => {
    expect(accountForWrites(new Map([["k", [write(1, "acknowledged")]]]), new Map())).toMatchObject({
      lost: [],
      unread: 1,
      unreadReason: "the key was not read",
    });
  });
});

describe("a numbered value", () => {
  it("is recognized by its key and number, and not when any character differs", () => {
    forAll(
      [
        fc.string({ minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 1e12 }),
        fc.integer({ min: 1, max: 300 }),
        fc.nat(),
      ],
      (key, number, bytes, place) => {
        const value = numberedValue(key, number, bytes);
        expect(value.length).toBeGreaterThanOrEqual(bytes);
        expect(writeNumberOf(key, value)).toBe(number);
        expect(writeNumberOf(`${key}!`, value)).toBeUndefined();
        const at = place % value.length;
        expect(writeNumberOf(key, `${value.slice(0, at)}#${value.slice(at + 1)}`)).toBeUndefined();
      },
    );
  });
});
