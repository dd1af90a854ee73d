/** `status` and `verify STACK` of real servers; the state is what Pulumi would export. */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { pulumiWithState, verifiedDeployment } from "../../support/pulumi/exported-state";
import { useSandbox, usePlace } from "../../support/valkey/hooks";
import { callNode } from "../../support/valkey/real";

const sandbox = useSandbox();
let cluster: Deployment;
const place = usePlace();
beforeAll(async () => {
  cluster = await sandbox.formedCluster("orders", 3, 1);
});

const checkOf = (deployment: Deployment): object => verifiedDeployment(deployment);
const pulumiWith = (resources: readonly object[], failure = ""): NodeJS.ProcessEnv =>
  pulumiWithState(place.directory, { resources }, failure);

const STACK = { type: "pulumi:pulumi:Stack" };

describe("status", () => {
  it("has every node with its role, version, memory and lag, and the verdict", async () => {
    const { status, output } = await place.call(["status", "dev"], pulumiWith([STACK, checkOf(cluster)]));
    expect(output).toMatch(/^NAME +ROLE +ZONE +VERSION +UP +MEMORY +KEYS +LAG$/m);
    expect(output).toMatch(/^NAME +ADDRESS +MACHINE\n(orders-\d +127\.0\.0\.1:\d+ +\S+\n){6}/m);
    expect(output.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(output.match(/^orders-\d +primary .* valkey \d+\.\d+\.\d+ .*[KM]i?B +0$/gm)).toHaveLength(3);
    expect(output.match(/^orders-\d +replica .* 0 +\d+ B$/gm)).toHaveLength(3);
    expect(output).toContain("VERIFY orders: PASS — all 22 assertions hold.");
    expect(output).not.toContain(cluster.access.password);
    expect(status).toBe(0);
  });

  it("answers tools in JSON, and verify has all rows", async () => {
    const environment = pulumiWith([checkOf(cluster)]);
    const { output } = await place.call(["status", "dev", "--json"], environment);
    expect(JSON.parse(output)).toMatchObject([{ deployment: "orders", pass: true, topology: { mode: "cluster" } }]);
    const verdict = await place.call(["verify", "dev"], environment);
    expect(verdict.output).toContain("=== Assertions ===");
    expect(verdict.status).toBe(0);
  });

  it("says of each deployment what does not hold, also where nobody answers, and exits with 1", async () => {
    const lost = { ...cluster, name: "lost", shape: { primaries: 4, replicasPerPrimary: 1 } };
    const { status, output } = await place.call(["status", "dev"], pulumiWith([checkOf(cluster), checkOf(lost)]));
    expect(output).toContain("VERIFY orders: PASS");
    expect(output).toMatch(
      /✗ the cluster has the expected number of primaries {2}\[primaries\]\n {4}expected: 4\n {4}found: +3/,
    );
    expect(output).toContain("VERIFY lost: FAIL — 1 of 22 assertions do not hold: primaries.");
    expect(status).toBe(1);
  }, 30_000);

  it("refuses what it cannot ask", async () => {
    const nothing = await place.call(["status", "dev"], pulumiWith([STACK]));
    expect(nothing).toMatchObject({ status: 2 });
    expect(nothing.output).toContain("stack dev: has no deployments; pulumi up creates them");
    const missing = await place.call(["status", "dev"], pulumiWith([], "no stack named 'dev' found"));
    expect(missing).toMatchObject({ status: 2 });
    expect(missing.output).toContain("stack dev: no stack named 'dev' found");
    const both = await place.call(["verify", "dev", "--tls", "--mode", "cluster"], pulumiWith([checkOf(cluster)]));
    expect(both).toMatchObject({ status: 2 });
    expect(both.output).toContain("--tls applies to servers without a stack");
    expect(both.output).toContain("--mode applies to servers without a stack");
    const without = await place.call(["status", "dev"], { PATH: join(place.directory, "nothing") });
    expect(without).toMatchObject({ status: 1 });
    expect(without.output).toContain("pulumi is not in the PATH");
  });
});

describe("verify", () => {
  it("passes servers without zones when zones are left out", async () => {
    const nodes = cluster.nodes.flatMap(({ endpoint }) => ["--node", `127.0.0.1:${endpoint.port}`]);
    const environment = { VALKEY_PASSWORD: cluster.access.password };
    const asked = ["verify", "--mode", "cluster", ...nodes];
    // Otherwise they tell it themselves.
    for (const index of cluster.nodes.keys()) await callNode(cluster, index, "CONFIG", "SET", "availability-zone", "");
    const refused = await place.call(asked, environment);
    expect(refused.output).toMatch(/next .*name the zone: `--node HOST:PORT=ZONE`; or skip zones/s);
    expect(refused.status).toBe(1);
    const passed = await place.call([...asked, "--without", "zones"], environment);
    expect(passed.output).toContain("skipped on request: zones.");
    expect(passed.status).toBe(0);
  });
});
