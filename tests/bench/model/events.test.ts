import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventsOf, formatEvents, MODES, parseEvents, PERSISTENCES } from "../../../bench/model/events";
import { forAll } from "../../support/properties";

describe("events of the model", () => {
  it("are written as a line that is read as the same events", () => {
    const anyEvents = fc
      .tuple(fc.constantFrom(...MODES), fc.constantFrom(...PERSISTENCES))
      .chain(([mode, persistence]) => eventsOf(mode, persistence, 20));
    forAll([anyEvents], (events) => {
      expect(parseEvents(formatEvents(events))).toEqual(events);
    });
  });

  it("are refused with all that do not exist", () => {
    expect(() => parseEvents("write 5 1, kil primary 0, freeze third 3")).toThrow(
      /"kil primary 0": .*\n.*"freeze third 3": expected one of write 5 0\|1\|2; freeze primary\|first\|second/s,
    );
  });

  it("are those of the mode and the persistence, and not those that are left out", () => {
    const drawn = (...args: Parameters<typeof eventsOf>): Set<string> =>
      new Set(
        fc.sample(eventsOf(...args), { numRuns: 200, seed: 1 }).flatMap((events) => events.map(([verb]) => verb)),
      );
    expect(drawn("cluster", "none", 20)).not.toContain("save");
    expect(drawn("sentinels", "snapshots", 20)).toContain("save");
    expect(drawn("cluster", "none", 20)).not.toContain("sentinel");
    expect(drawn("replication", "append-only", 20, ["power"])).not.toContain("power");
  });
});
