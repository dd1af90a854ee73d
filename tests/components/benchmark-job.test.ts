/** The measuring components: their defaults, and what they refuse when a target is known. */
import { describe, expect, it } from "vitest";
import { type BenchmarkJobArgs, BenchmarkJob } from "../../components/benchmark-job";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import { problemText } from "../../lib/errors";
import { handler as measurement, type MeasurementInputs } from "../../provider/handlers/measurement";
import { type DeclaredResource, evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";
import { HANDLER_CONTEXT } from "../support/pulumi/handler-context";

const zones = ["a", "b", "c"];
const MEASUREMENT = "valkey:index:Measurement";

/** The measurement that a program declares. */
async function measured(program: () => unknown): Promise<DeclaredResource> {
  return onlyResource(await evaluateProgram(program), MEASUREMENT);
}
const inputsOf = ({ inputs }: DeclaredResource): MeasurementInputs => inputs as unknown as MeasurementInputs;

const elsewhere = { name: "elsewhere", mode: "replication", nodes: [{ host: "10.0.0.1" }] } as const;

describe("a benchmark of deployments", () => {
  it("needs targets alone: the rest has the defaults of a stack, and an uneven load is adjusted", async () => {
    const declared = await measured(() => {
      const shape = { primaries: 3, replicasPerPrimary: 1 };
      const orders = new ValkeyCluster("orders", { shape, zones });
      const sessions = new ValkeyReplication("sessions", { replicas: 2, zones });
      new BenchmarkJob("compare", { targets: [orders, sessions] });
    });
    expect(declared.name).toBe("compare");
    expect(declared.parent).toBe("valkey:index:BenchmarkJob compare");
    const inputs = inputsOf(declared);
    expect(inputs).toMatchObject({
      workload: { tests: ["set", "get", "incr"], clients: 48, pipeline: 16, threads: 3, length: { seconds: 10 } },
      mixes: [],
      adjustLoad: true,
      repeats: 3,
      clients: { runners: 1, sharing: false },
      stack: "test",
      configuration: { workload: { clients: 48 } },
      trigger: 0,
      timeoutSeconds: 600,
    });
    expect(inputs.targets.map(({ target, formationMs }) => [target.name, target.mode, formationMs])).toEqual([
      ["orders", "cluster", 1500],
      ["sessions", "replication", null],
    ]);
  });

  it("waits until its targets are verified, and keeps their passwords secret", async () => {
    const declared = await measured(() => {
      const sessions = new ValkeyReplication("sessions", { replicas: 2, zones });
      new BenchmarkJob("compare", { targets: [sessions] });
    });
    expect(declared.dependsOn).toEqual(["valkey:index:ValkeyReplication sessions"]);
    expect(declared.secrets.some((path) => path === "targets" || path.endsWith("password"))).toBe(true);
  });

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
