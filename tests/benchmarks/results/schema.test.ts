import { describe, expect, it } from "vitest";
import { resultsSchema } from "../../../benchmarks/results/schema";
import { measurementRecord, results } from "../../support/benchmarks/records";

describe("results.json", () => {
  it("is read from before there were several load generators and other machines", () => {
    const file = JSON.parse(JSON.stringify(results([measurementRecord()]))) as {
      environment: Record<string, unknown>;
      records: Record<string, unknown>[];
    };
    delete file.environment["machines"];
    for (const each of file.records) delete each["runners"];
    const read = resultsSchema.parse(file);
    expect(read).toEqual(results([measurementRecord()]));
  });

  it("keeps what each of several load generators did", () => {
    const runners = [0, 1].map((index) => ({
      name: `runner ${index}`,
      machine: `m-${index}`,
      seed: index,
      requests: 1,
      rps: 1,
      seconds: 1,
      p99Ms: 1,
      cpu: null,
    }));
    expect(resultsSchema.parse(results([measurementRecord({ runners })])).records[0]?.runners).toEqual(runners);
    const warnings = (["shared-machine", "runners-apart"] as const).map((code) => ({ code, text: "x" }));
    expect(resultsSchema.safeParse(results([measurementRecord({ warnings })])).success).toBe(true);
  });
});
