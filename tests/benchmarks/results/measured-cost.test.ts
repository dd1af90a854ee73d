import { describe, expect, it } from "vitest";
import type { Machine } from "../../../platforms/kubernetes/cluster/machine";
import { measuredCosts } from "../../../benchmarks/results/measured-cost";
import { pricesOf } from "../../../platforms/eks/offers/prices";

const machine = (name: string, instanceType: string | null, zone: string | null = "us-west-2a"): Machine => ({
  name,
  instanceType,
  zone,
  cores: 2,
  memoryBytes: 16 * 2 ** 30,
  platform: "linux/arm64",
  kernel: "6.12",
  system: "AL2023",
  kubelet: "v1.35",
});
const on = (name: string, ...machines: readonly string[]): { name: string; nodes: { machine: string }[] } => ({
  name,
  nodes: machines.map((each) => ({ machine: each })),
});
const r7g = pricesOf("us-west-2")?.machines["r7g.large"]?.usdPerHour ?? 0;

describe("measuredCosts", () => {
  it("adds up the machines of a deployment's servers", () => {
    const machines = ["a", "b", "c"].map((name) => machine(name, "r7g.large"));
    expect(measuredCosts([on("cluster", "a", "b", "c")], machines, pricesOf)).toEqual([
      {
        deployment: "cluster",
        usdPerHour: expect.closeTo(3 * r7g) as number,
        machines: [{ type: "r7g.large", count: 3 }],
        region: "us-west-2",
        date: pricesOf("us-west-2")?.date,
      },
    ]);
  });

  it("remembers what each server's pod asks for, where that is known", () => {
    const costs = measuredCosts(
      [{ ...on("pods", "a"), memoryBytes: 12 * 2 ** 30 }, on("others", "a")],
      [machine("a", "r7g.large")],
      pricesOf,
    );
    expect(costs.map((cost) => ("memoryBytes" in cost ? cost.memoryBytes : "unknown"))).toEqual([
      12 * 2 ** 30,
      "unknown",
    ]);
  });

  it("shares a machine equally among all servers that are on it, so that all of it is paid for once", () => {
    const costs = measuredCosts([on("one", "a"), on("three", "a", "a", "a")], [machine("a", "r7g.large")], pricesOf);
    expect(costs.map(({ machines }) => machines[0]?.count)).toEqual([0.25, 0.75]);
    expect(costs.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0)).toBeCloseTo(r7g);
  });

  it.each<[string, Machine]>([
    ["a type without a price", machine("b", "x9g.large")],
    ["no type", machine("b", null)],
    ["no zone", machine("b", "r7g.large", null)],
    ["a region without prices", machine("b", "r7g.large", "eu-west-1a")],
    ["a zone of another provider's", machine("b", "r7g.large", "local-1a")],
  ])("says nothing of a deployment with a machine of %s", (_what, other) => {
    expect(
      measuredCosts([on("good", "a"), on("bad", "a", "b")], [machine("a", "r7g.large"), other], pricesOf).map(
        ({ deployment }) => deployment,
      ),
    ).toEqual(["good"]);
  });

  it("says nothing of a machine that nobody described", () => {
    expect(measuredCosts([on("cluster", "gone")], [], pricesOf)).toEqual([]);
  });
});
