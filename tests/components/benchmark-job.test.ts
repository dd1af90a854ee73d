/** The measuring components: their defaults, and what they refuse when a target is known. */
import { describe, expect, it } from "vitest";
import { type BenchmarkJobArgs, BenchmarkJob } from "../../components/benchmark-job";
import { problemText } from "../../lib/errors";
import { handler as measurement, type MeasurementInputs } from "../../operations/handlers/measurement";
import { type DeclaredResource, evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";
import { HANDLER_CONTEXT } from "../support/pulumi/handler-context";

const MEASUREMENT = "valkey:index:Measurement";

/** The measurement that a program declares. */
async function measured(program: () => unknown): Promise<DeclaredResource> {
  return onlyResource(await evaluateProgram(program), MEASUREMENT);
}
const inputsOf = ({ inputs }: DeclaredResource): MeasurementInputs => inputs as unknown as MeasurementInputs;

const elsewhere = { name: "elsewhere", mode: "replication", nodes: [{ host: "10.0.0.1" }] } as const;

describe("a benchmark of deployments", () => {
  it("tells the provider the program's directory, which alone measures nothing again", async () => {
    const declared = await measured(
      () => new BenchmarkJob("compare", { externalTargets: [elsewhere], output: "out/first" }),
    );
    expect(inputsOf(declared)).toMatchObject({ directory: process.cwd(), output: "out/first" });
    expect(measurement.silentInputs).toEqual(["directory", "output"]);
  });
});

describe("a benchmark that is told wrong", () => {
  it("is refused at preview where a load does not suit a target, once the target is known", async () => {
    const program = (args: Partial<BenchmarkJobArgs>) => (): unknown =>
      new BenchmarkJob("compare", {
        externalTargets: [{ ...elsewhere, mode: "cluster", primaries: 5 }],
        workloads: { mixed: {} },
        tests: ["get"],
        ...args,
      });
    const reasons = async (args: Partial<BenchmarkJobArgs>): Promise<string[]> =>
      ((await measurement.check?.(undefined, inputsOf(await measured(program(args))), HANDLER_CONTEXT)) ?? []).map(
        problemText,
      );
    expect(await reasons({ adjustLoad: false })).toEqual([
      expect.stringMatching(/^clients: 48 clients cannot be shared evenly by 5 primaries and 3 threads of elsewhere/),
      expect.stringMatching(/^workloads\.mixed\.clients: 48 clients .* nearest values: 45 or 50$/),
    ]);
    expect(await reasons({})).toEqual([]);
  });
});
