import { describe, expect, it } from "vitest";
import { parseClusterSlots } from "../../../../../benchmarks/load/open-loop/connections/routes";

describe("parseClusterSlots", () => {
  it("joins the ranges of a primary, and takes an empty host as the node that was asked", () => {
    const reply = [
      [0, 5, ["10.0.0.1", 7000, "a"], ["10.0.0.2", 7001, "b"]],
      [6, 9, ["", 7005, "c"], ["?", 7006, "d"]],
      [10, 16_383, ["10.0.0.1", 7000, "a"], ["10.0.0.2", 7001, "b"]],
    ];
    expect(parseClusterSlots(reply, { host: "10.0.0.7", port: 7005 })).toEqual([
      {
        primary: { host: "10.0.0.1", port: 7000 },
        replicas: [{ host: "10.0.0.2", port: 7001 }],
        slots: [
          { from: 0, to: 5 },
          { from: 10, to: 16_383 },
        ],
      },
      { primary: { host: "10.0.0.7", port: 7005 }, replicas: [], slots: [{ from: 6, to: 9 }] },
    ]);
  });
});
