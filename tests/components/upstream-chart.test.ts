/** The upstream chart as it comes: installed with the values it is given, and verified. */
import { describe, expect, it } from "vitest";
import { type UpstreamChartArgs, UpstreamChart } from "../../components/upstream-chart";
import { type DeclaredResource, evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";

const ARGS: UpstreamChartArgs = {
  replicas: 2,
  zones: ["a", "b", "c"],
  image: "registry.example:5000/valkey/valkey:9.1.2",
  resources: { requests: { cpu: "1", memory: "2Gi" }, limits: { cpu: "2", memory: "2Gi" } },
  settings: { appendonly: true, save: "" },
};
const declare = (args: Partial<UpstreamChartArgs> = {}): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(() => new UpstreamChart("orders", { ...ARGS, ...args }));
const chart = async (args?: Partial<UpstreamChartArgs>): Promise<DeclaredResource> =>
  onlyResource(await declare(args), "kubernetes:helm.sh/v4:Chart", "orders");
const revision = async (args?: Partial<UpstreamChartArgs>): Promise<unknown> =>
  onlyResource(await declare(args), "valkey:index:DeploymentVerification", "orders").inputs["revision"];

describe("UpstreamChart", () => {
  it("has the password in a Secret, and not among the values", async () => {
    const { inputs } = await chart({ password: "a-password-of-its-own" });
    expect(inputs["values"]).toMatchObject({ auth: { enabled: true, usersExistingSecret: "orders-chart-password" } });
    expect(JSON.stringify(inputs)).not.toContain("a-password-of-its-own");
  });

  it("prefers values that it is given, and verifies again where they change", async () => {
    const values = {
      priorityClassName: "high",
      replica: { disklessSync: true, persistence: { storageClass: "fast" } },
    };
    expect((await chart({ values })).inputs["values"]).toMatchObject({
      priorityClassName: "high",
      replica: { disklessSync: true, enabled: true, replicas: 2, persistence: { size: "8Gi", storageClass: "fast" } },
    });
    expect(await revision({ values })).not.toBe(await revision());
    expect(await revision({ values })).toBe(await revision({ values: { ...values } }));
  });

  it("takes a registry's address with the version, and a directory without", async () => {
    const oci = { chart: "oci://registry.example/charts/valkey", version: "0.9.0" };
    expect((await chart({ source: oci.chart, version: oci.version })).inputs).toMatchObject(oci);
    const { inputs } = await chart({ source: "./valkey" });
    expect(inputs).toMatchObject({ chart: "./valkey" });
    expect(inputs).not.toHaveProperty("version");
    expect(inputs).not.toHaveProperty("repositoryOpts");
  });
});
