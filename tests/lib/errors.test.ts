import { describe, expect, it } from "vitest";
import { Failure, isCausedBy } from "../../lib/errors";

class Refused extends Failure {}

describe("the cause of an error", () => {
  it("is found behind other errors, and among those of several servers", () => {
    const refused = new Refused("no");
    expect(isCausedBy(refused, Refused)).toBe(true);
    expect(isCausedBy(new Failure("node 1: no", { cause: refused }), Refused)).toBe(true);
    const several = new AggregateError([new Failure("down"), new Failure("node 2: no", { cause: refused })]);
    expect(isCausedBy(new Failure("nodes: down; no", { cause: several }), Refused)).toBe(true);
  });

  it("is not read from a message", () => {
    expect(isCausedBy(new Failure("no", { cause: new Failure("no") }), Refused)).toBe(false);
    expect(isCausedBy("no", Refused)).toBe(false);
    expect(isCausedBy(undefined, Refused)).toBe(false);
  });
});
