import * as pulumi from "@pulumi/pulumi";
import { beforeAll, describe, expect, it } from "vitest";
import { type StackOutputs, outputsSchema } from "../../../stacks/program/outputs";
import { comparisonOf, withoutDistributions } from "../../../benchmarks/results/comparison";
import { formatSummary } from "../../../benchmarks/results/formats/summary";
import { parseConfig } from "../../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { program } from "../../../stacks/program/program";
import { readStackFile } from "../../../stacks/config/sections/stack-file";
import type { DeclaredResource, MockOutputs, ProgramRun } from "../../support/pulumi/pulumi-mocks";
import { runProgram, outputValue } from "../../support/pulumi/pulumi-mocks";
import { onlyResource } from "../../support/pulumi/declared-resources";
import type { Mode } from "../../../valkey/node";
import { recordAt, results, verifiedTopology } from "../../support/benchmarks/records";
import { MACHINE } from "../../support/stack-config";

const CUSTOM = "valkey:index:";

const VERIFIED_AT = "2026-07-20T10:00:00.000Z";

const RESTORED = { restoredAt: VERIFIED_AT, shards: [{ name: "shard-0", at: VERIFIED_AT }], keys: 7, expired: 1 };

/** Outputs of the custom resources. */
const some = results([recordAt("cluster", 1, 200_000), recordAt("replication", 1, 100_000)]);
const outputsOf: MockOutputs = (type, name) => {
  switch (type.replace(CUSTOM, "")) {
    case "Password":
      return { password: "s3cret" };
    case "HostServers":
      return {
        target: {
          platform: "endpoints",
          name,
          mode: name,
          shape: { primaries: 1, replicasPerPrimary: 0 },
          zones: [],
          directives: {},
          nodes: [{ name: `${name}-0`, machine: "here", endpoint: { host: "127.0.0.1", port: 7000 } }],
        },
      };
    case "Formation":
      return { milliseconds: 12 };
    case "HostRestore":
      return RESTORED;
    case "DeploymentVerification":
      return { topology: verifiedTopology(name as Mode, name === "cluster" ? 3 : 1), verifiedAt: VERIFIED_AT };
    case "HostDeployment":
    case "BenchmarkJob":
      return {};
    case "Measurement":
      return {
        results: withoutDistributions(some),
        comparison: comparisonOf(some),
        summary: formatSummary(some).join("\n"),
        report: "results/x/report.html",
      };
    default:
      return undefined;
  }
};
const declare = (stack: string, raw: Readonly<Record<string, unknown>>): Promise<ProgramRun> =>
  runProgram(() => program(stack, parseConfig(`stack ${stack}`, raw, MACHINE)), outputsOf, {}, stack);
const returnedOf = ({ returned }: ProgramRun): Record<string, pulumi.Output<unknown>> =>
  returned as Record<string, pulumi.Output<unknown>>;

describe("the stack local under mocks", () => {
  let recorded: readonly DeclaredResource[];
  let outputs: Record<string, pulumi.Output<unknown>>;

  beforeAll(async () => {
    const local = await declare("local", readStackFile(STACKS_DIRECTORY, "local"));
    recorded = local.resources;
    outputs = returnedOf(local);
  });

  it("has servers, formation and check for each deployment, and one measurement of all", () => {
    const names = recorded.map(({ type, name }) => `${type.replace(CUSTOM, "")} ${name}`).sort();
    expect(names).toEqual([
      "BenchmarkJob benchmark",
      "DeploymentVerification cluster",
      "DeploymentVerification replication",
      "Formation cluster",
      "Formation replication",
      "HostDeployment cluster",
      "HostDeployment replication",
      "HostServers cluster",
      "HostServers replication",
      "Measurement benchmark",
      "Password cluster",
      "Password replication",
    ]);
  });

  it("measures what was checked, with the workload of the file", () => {
    const measurement = recorded.find(({ type }) => type === "valkey:index:Measurement");
    expect(measurement?.inputs).toMatchObject({
      repeats: 3,
      trigger: 1,
      workload: { tests: ["set", "get", "incr"], clients: 48, keySpace: 98_304 },
    });
    expect((measurement?.inputs["targets"] as { target: { name: string } }[]).map(({ target }) => target.name)).toEqual(
      ["replication", "cluster"],
    );
  });

  it("exports results in results.json's shape, without distributions and without the password", async () => {
    const exported = outputsSchema.parse(await outputValue(outputs["valkey"] as pulumi.Output<StackOutputs>));
    expect(exported.endpoints).toEqual([
      { deployment: "replication", mode: "replication", addresses: ["127.0.0.1:7000"] },
      { deployment: "cluster", mode: "cluster", addresses: ["127.0.0.1:7000"] },
    ]);
    expect(exported.comparison).toMatchObject([{ test: "GET", speedUp: { median: 2 } }]);
    expect(await outputValue(outputs["summary"] as pulumi.Output<string>)).toMatch(
      /VERIFY cluster: PASS.*; verified at 2026-07-20T10:00:00\.000Z\.[^]*=== Side by side ===[^]*2\.00×/,
    );
    expect(exported.results?.records.map(({ client }) => client.cumulative)).toEqual([[], []]);
    expect(JSON.stringify(exported)).not.toContain("s3cret");
    expect(await pulumi.isSecret(outputs["passwords"] as pulumi.Output<unknown>)).toBe(true);
    expect(await pulumi.isSecret(outputs["urls"] as pulumi.Output<unknown>)).toBe(true);
    expect(await outputValue(outputs["urls"] as pulumi.Output<unknown>)).toEqual({
      replication: "redis://default:s3cret@127.0.0.1:7000",
      cluster: "redis://default:s3cret@127.0.0.1:7000",
    });
  });

  it("has the capacity searched for with the measurement, in a state that knows no undefined", async () => {
    const { platform, deployments } = readStackFile(STACKS_DIRECTORY, "local");
    const capable = await declare("capable", {
      platform,
      deployments,
      workloads: { steady: { loadGenerator: "open-loop", rate: 500, keySpace: 98_304 } },
      capacity: { objective: "p99=2ms" },
    });
    const inputs = capable.resources.find(({ type }) => type === "valkey:index:Measurement")?.inputs ?? {};
    expect(inputs).toMatchObject({
      workload: { tests: [] },
      mixes: [{ name: "steady" }],
      capacity: { workload: { name: "steady" }, objective: { quantile: 0.99, ms: 2 }, search: { initialRate: 1000 } },
    });
    expect(JSON.parse(JSON.stringify(inputs["capacity"]))).toStrictEqual(inputs["capacity"]);
    expect(returnedOf(capable)["plan"]).toMatch(
      /then a search for the highest load of steady at which p99 ≤ 2 ms holds: from 1,000\/s to at most 10,000,000\/s, with a precision of 10 %, with about 31 loads for each deployment\n[^]*the search for capacities/,
    );
  });

  it("measures nothing where the stack does not ask for it", async () => {
    const raw = readStackFile(STACKS_DIRECTORY, "local");
    const quiet = await declare("quiet", { platform: raw["platform"], deployments: raw["deployments"] });
    const exported = await outputValue(returnedOf(quiet)["valkey"] as pulumi.Output<StackOutputs>);
    expect(exported.results).toBeNull();
    expect(quiet.resources.some(({ type }) => type.endsWith("Measurement"))).toBe(false);
  });
});

describe("a stack with a restored deployment under mocks", () => {
  it("fills the deployment after its formation and before its verification, and exports the result", async () => {
    const restoreFrom = { from: "/backups/shop", keys: ["app:*"] };
    const { resources, ...run } = await declare("restored", {
      platform: { type: "host", zones: ["a", "b", "c"] },
      deployments: { cluster: { mode: "cluster", primaries: 3, restoreFrom } },
    });
    const restore = onlyResource(resources, `${CUSTOM}HostRestore`);
    expect(restore.inputs["restoreFrom"]).toEqual({ ...restoreFrom, ttl: "absolute" });
    expect(restore.dependsOn).toContain(`${CUSTOM}Formation cluster`);
    const verification = onlyResource(resources, `${CUSTOM}DeploymentVerification`);
    expect(verification.dependsOn).toContain(`${CUSTOM}HostRestore cluster`);
    const outputs = returnedOf({ resources, ...run });
    const exported = outputsSchema.parse(await outputValue(outputs["valkey"] as pulumi.Output<StackOutputs>));
    expect(exported.restored).toEqual({ cluster: RESTORED });
    expect(outputs["plan"]).toContain(
      "a new deployment is restored from /backups/shop as of its last time, only keys app:*, and every key is compared",
    );
  });
});
