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
});
