import { describe, expect, it } from "vitest";
import { outputsSchema, stackOutputs, type StackOutputs } from "../../../stacks/program/outputs";
import { planStack } from "../../../stacks/plan/stack-plan";
import { withoutDistributions } from "../../../benchmarks/results/comparison";
import { capacityPoint, capacityRecord, results, verifiedTopology } from "../../support/benchmarks/records";
import { configOf } from "../../support/stack-config";

const plannedOf = (stack: string, ...assignments: readonly string[]): StackOutputs["planned"] => {
  const outputs = stackOutputs(planStack(stack, configOf(stack, ...assignments)), [], [], {}, null);
  // A state knows no undefined, and what it keeps is to be read again.
  expect(outputsSchema.parse(JSON.parse(JSON.stringify(outputs)))).toEqual(outputs);
  return outputs.planned;
};

describe("what was verified, in the outputs", () => {
  it("is the topology of each deployment as verification recorded it, also where nothing is measured", () => {
    const topologies = [verifiedTopology("cluster", 3), verifiedTopology("replication", 1)];
    const plan = { stack: "local", eks: null, deployments: [] };
    expect(stackOutputs(plan, [], topologies, {}, null)).toMatchObject({ topologies, results: null, comparison: [] });
  });
});

describe("what was measured, in the outputs", () => {
  it("has a capacity's points and not its distributions, which would fill every update", () => {
    const point = { ...capacityPoint(5, 1), histogram: "H4sIAAA" };
    const capacity = capacityRecord({ points: [point] });
    const outputs = withoutDistributions(results([], { capacities: [capacity] }));
    expect(outputs.capacities).toEqual([{ ...capacity, points: [{ ...point, histogram: "" }] }]);
  });
});

describe("what was planned, in the outputs", () => {
  it("is machines, volumes and dollars per hour in numbers, with the prices' region and date", () => {
    const planned = plannedOf("topologies");
    expect(planned).toMatchObject({
      region: "us-west-2",
      usdPerHour: expect.closeTo(1.81, 2) as number,
      pricesOf: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
      volumes: { count: 10, gib: 500 },
    });
    expect(planned?.machines).toContainEqual({ pool: "servers", type: "r7g.large", zone: "us-west-2a", count: 4 });
    expect(planned?.notCounted).toHaveLength(1);
  });

  it("has no dollars where the region has no prices, and says so", () => {
    expect(plannedOf("topologies", "platform.region=eu-west-1")).toMatchObject({
      region: "eu-west-1",
      usdPerHour: null,
      pricesOf: null,
      notCounted: ["everything: there are no prices for eu-west-1", expect.any(String)],
    });
  });

  it("is nothing where the machines are there already", () => {
    expect(plannedOf("kind")).toBeNull();
    expect(plannedOf("local")).toBeNull();
  });
});
