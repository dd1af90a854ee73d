import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WriteOutcome, Write } from "../../../faults/writes/write-history";
import {
  deploymentOutage,
  outageOf,
  timelineOf,
  countWriteErrors,
  latencyByPhase,
} from "../../../faults/scenarios/scenario-record";
import { forAll } from "../../support/properties";

const YES: WriteOutcome = { kind: "acknowledged" };
const NO: WriteOutcome = { kind: "failed", error: "refused" };
const write = (dueMs: number, outcome: WriteOutcome, tookMs = 1): Write => ({
  key: "k",
  number: dueMs,
  shard: 0,
  dueMs,
  endedMs: dueMs + tookMs,
  redirects: 0,
  outcome,
});

/** One write per millisecond; those due within one of the spans are refused. */
function writes(until: number, spans: readonly (readonly [from: number, until: number])[]): Write[] {
  return Array.from({ length: until }, (_, ms) =>
    write(ms, spans.some(([from, to]) => ms >= from && ms < to) ? NO : YES),
  );
}

describe("an outage", () => {
  it("lasts from the fault to the first acknowledged write", () => {
    expect(outageOf(writes(1000, [[100, 400]]), 100)).toEqual({ longestMs: 301, overMs: 301 });
  });

  it("is none where no write fails, however slow writes are", () => {
    expect(outageOf([write(0, YES), write(100, YES, 5000), write(6000, YES)], 50)).toEqual({ longestMs: 0, overMs: 0 });
  });

  it("counts its own length where it begins after the fault, as in a minority that notices late", () => {
    expect(outageOf(writes(1000, [[500, 700]]), 100)).toMatchObject({ longestMs: 201, overMs: 601 });
  });

  it("has no end where writes still fail at the end", () => {
    expect(outageOf(writes(1000, [[300, 1000]]), 300)).toEqual({ longestMs: 700, overMs: null });
  });

  it("of the deployment is that of the shard with the longest outage", () => {
    expect(
      deploymentOutage([
        { longestMs: 5, overMs: 7 },
        { longestMs: 9, overMs: 2 },
      ]),
    ).toEqual({ longestMs: 9, overMs: 7 });
    expect(
      deploymentOutage([
        { longestMs: 5, overMs: null },
        { longestMs: 9, overMs: 2 },
      ]),
    ).toEqual({ longestMs: 9, overMs: null });
  });

  it("is found whatever the order of the replies, without failures before the fault", () => {
    forAll(
      [
        fc.integer({ min: 50, max: 300 }),
        fc.integer({ min: 1, max: 500 }),
        fc.array(fc.nat(), { minLength: 1000, maxLength: 1000 }),
      ],
      { numRuns: 50 },
      (fault, lasts, order) => {
        const all = writes(1000, [
          [10, 20],
          [fault, fault + lasts],
        ]);
        const shuffled = all
          .map((each, index) => ({ each, at: order[index] ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ each }) => each);
        expect(outageOf(shuffled, fault)).toEqual({ longestMs: lasts + 1, overMs: lasts + 1 });
      },
    );
  });
});

describe("the statistics of a history", () => {
  it("count every write once in the timeline and in the phases", () => {
    const outcome = fc.constantFrom<WriteOutcome>(YES, NO, { kind: "unknown", error: "timeout" });
    forAll(
      [
        fc.array(fc.tuple(fc.integer({ min: 0, max: 100_000 }), outcome, fc.integer({ min: 0, max: 900 })), {
          minLength: 1,
          maxLength: 300,
        }),
        fc.integer({ min: 0, max: 100_000 }),
      ],
      (all, fault) => {
        const history = all.map(([due, how, took]) => write(due, how, took));
        const { acknowledged, failed, unknown } = timelineOf(history, fault);
        const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
        const counted = (kind: WriteOutcome["kind"]): number =>
          history.filter(({ outcome: { kind: its } }) => its === kind).length;
        expect([sum(acknowledged), sum(failed), sum(unknown)]).toEqual([
          counted("acknowledged"),
          counted("failed"),
          counted("unknown"),
        ]);
        expect(acknowledged.length).toBeLessThanOrEqual(700);
        const { before, during, after } = latencyByPhase(history, fault, 500);
        expect(before.count + during.count + after.count).toBe(counted("acknowledged"));
        expect(sum(countWriteErrors(history).map(({ count }) => count))).toBe(history.length - counted("acknowledged"));
      },
    );
  });
});
