/** The measuring components: what they ask of the provider, their defaults, and what they refuse. */
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import type { BenchmarkJobArgs } from "../../components/benchmark-job";
import { BenchmarkJob } from "../../components/benchmark-job";
import type { LoadCapacityArgs } from "../../components/load-capacity";
import { LoadCapacity } from "../../components/load-capacity";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import { BadInput } from "../../lib/errors";
import { handler as measurement } from "../../provider/handlers/measurement";
import type { MeasurementInputs } from "../../provider/handlers/measurement";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";
import { HANDLER_CONTEXT } from "../support/pulumi/handler-context";

const zones = ["a", "b", "c"];
const MEASUREMENT = "valkey:index:Measurement";

/** The measurement that a program declares. */
async function measured(program: () => unknown): Promise<DeclaredResource> {
  return onlyResource(await evaluateProgram(program), MEASUREMENT);
}
const inputsOf = ({ inputs }: DeclaredResource): MeasurementInputs => inputs as unknown as MeasurementInputs;

/** Problems of arguments that no type checker has seen. */
function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (error instanceof BadInput) return error.problems;
    throw error;
  }
  return [];
}
const benchmarkProblems = (args: unknown): readonly string[] =>
  problemsOf(() => new BenchmarkJob("x", args as BenchmarkJobArgs));
const capacityProblems = (args: unknown): readonly string[] =>
  problemsOf(() => new LoadCapacity("x", args as LoadCapacityArgs));

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

  it("takes values of other resources wherever a value decides no resource", async () => {
    const declared = await measured(
      () =>
        new BenchmarkJob("compare", {
          externalTargets: [
            {
              ...elsewhere,
              nodes: [{ host: pulumi.output("cache.example"), port: pulumi.output(6380), zone: "a" }],
              password: pulumi.secret("s3cret"),
              tls: { caCertificate: pulumi.output("PEM") },
            },
          ],
          loadGenerators: { namespace: pulumi.output("load"), nodeSelector: { pool: "clients" } },
        }),
    );
    expect(inputsOf(declared)).toMatchObject({
      clients: { namespace: "load", nodeSelector: { pool: "clients" } },
      targets: [
        {
          target: {
            platform: "external",
            shape: { primaries: 1 },
            nodes: [{ name: "cache.example:6380", zone: "a", endpoint: { host: "cache.example", port: 6380 } }],
            tls: { caCertificate: "PEM" },
            overwriteKeys: false,
          },
          password: "s3cret",
        },
      ],
    });
    expect(declared.secrets).not.toEqual([]);
  });

  it("measures mixed workloads in place of the tests, and searches with one of them", async () => {
    const workloads = { steady: { loadGenerator: "open-loop", rate: 100 }, mixed: { reads: 0.5 } } as const;
    const capacity = { objective: "p99=2ms", maxRate: 5000 };
    const declared = await measured(
      () => new BenchmarkJob("compare", { externalTargets: [elsewhere], workloads, capacity, duration: 2 }),
    );
    expect(inputsOf(declared)).toMatchObject({
      workload: { tests: [] },
      mixes: [
        { name: "steady", loadGenerator: "open-loop", rate: 100, length: { seconds: 2 } },
        { name: "mixed", loadGenerator: "valkey-benchmark", reads: 0.5 },
      ],
      capacity: { workload: { name: "steady" }, objective: { quantile: 0.99, ms: 2 }, search: { maxRate: 5000 } },
    });
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
  it("says every problem at once, each with its path", () => {
    const problems = benchmarkProblems({
      targets: [{}],
      tests: ["nope"],
      clients: 0,
      externalTargets: [
        { name: "A b", mode: "x", nodes: [{ port: 70_000 }], tls: { caCertificate: 5 } },
        { ...elsewhere, nodes: [] },
      ],
      loadGenerators: { runners: 0, nodSelector: {} },
      workloads: { closed: { rate: 5, arrivals: "poisson" }, open: { loadGenerator: "open-loop" } },
      capacity: { objective: "p99" },
      duration: 1,
      requests: 5,
    });
    expect(problems.map((each) => /^[^:\s]+/.exec(each)?.[0])).toEqual([
      "tests",
      "clients",
      "targets.0",
      "externalTargets.0.name",
      "externalTargets.0.mode",
      "externalTargets.0.nodes.0.host",
      "externalTargets.0.nodes.0.port",
      "externalTargets.0.tls.caCertificate",
      "externalTargets.1.nodes",
      "loadGenerators.runners",
      "loadGenerators.nodSelector",
      "workloads.closed.arrivals",
      "workloads.open.rate",
      "capacity.objective",
      "requests",
    ]);
    expect(problems).toContain("externalTargets.0.nodes.0.host is missing: expected a text");
    expect(problems).toContain("externalTargets.0.nodes.0.port is 70000: expected a whole number from 1 to 65535");
  });

  it.each<[string, unknown, string]>([
    ["nothing to measure", {}, "targets is empty"],
    ["one name twice", { externalTargets: [elsewhere, elsewhere] }, 'externalTargets.1.name is "elsewhere"'],
    [
      "a search without an open loop",
      { externalTargets: [elsewhere], capacity: { objective: "p99=2ms" } },
      "capacity: the search needs an open-loop workload",
    ],
  ])("refuses %s", (_what, args, problem) => {
    expect(benchmarkProblems(args).join()).toContain(problem);
  });

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
        ({ reason }) => reason,
      );
    expect(await reasons({ adjustLoad: false })).toEqual([
      expect.stringMatching(/^clients: 48 clients cannot be shared evenly by 5 primaries and 3 threads of elsewhere/),
      expect.stringMatching(/^workloads\.mixed\.clients: 48 clients .* nearest values: 45 or 50$/),
    ]);
    expect(await reasons({})).toEqual([]);
  });
});

describe("a search for the capacity", () => {
  it("needs targets and an objective", async () => {
    const declared = await measured(
      () => new LoadCapacity("limit", { externalTargets: [elsewhere], objective: "p99=2ms" }),
    );
    expect(declared.parent).toBe("valkey:index:LoadCapacity limit");
    expect(inputsOf(declared)).toMatchObject({
      workload: { tests: [] },
      mixes: [],
      capacity: {
        workload: { loadGenerator: "open-loop", reads: 0.9, clients: 48, length: { seconds: 10 }, warmup: 1 },
        objective: { quantile: 0.99, ms: 2 },
        search: { initialRate: 1000, maxRate: 10_000_000, precision: 0.1, confirmations: 3 },
      },
    });
  });

  it("takes another workload and other bounds, and says what it does not take", async () => {
    const declared = await measured(
      () =>
        new LoadCapacity("limit", {
          externalTargets: [elsewhere],
          objective: "p99.9 ≤ 500us",
          workload: { reads: 1, values: { sizes: "fixed", bytes: 16 } },
          maxRate: 2000,
          duration: 3,
        }),
    );
    expect(inputsOf(declared).capacity).toMatchObject({
      workload: { reads: 1, values: { bytes: 16 }, length: { seconds: 3 } },
      objective: { ms: 0.5 },
      search: { maxRate: 2000 },
    });
    expect(capacityProblems({ workload: { rate: 3 }, precision: 7 })).toEqual([
      "objective is missing: expected a text",
      "precision is 7: expected a number from 0.01 to 1",
      expect.stringMatching(/^workload\.rate: unknown key/),
      expect.stringMatching(/^targets is empty/),
    ]);
  });
});
