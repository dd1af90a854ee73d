import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { BadInput } from "../../../lib/errors";
import { externalDeployment } from "../../../cli/targets/external";

const good = { mode: "cluster", node: ["127.0.0.1:7001=zone-a", "[::1]:7002=zone-b", "valkey.example.internal:7003"] };

function problems(values: Record<string, unknown>): readonly string[] {
  try {
    externalDeployment(values, {});
    return [];
  } catch (error) {
    if (error instanceof BadInput) return error.problems;
    throw error;
  }
}

describe("servers that exist already", () => {
  it("are named with their zones, also by IPv6; the password comes from the environment", () => {
    const { deployment, here } = externalDeployment({ ...good, user: "me" }, { VALKEY_PASSWORD: "s3cret" });
    expect(deployment.nodes.map(({ name, zone }) => [name, zone])).toEqual([
      ["127.0.0.1:7001", "zone-a"],
      ["[::1]:7002", "zone-b"],
      ["valkey.example.internal:7003", undefined],
    ]);
    expect(deployment.access).toEqual({ username: "me", password: "s3cret" });
    expect(deployment.shape).toEqual({});
    expect(here).toBe(false);
    expect(externalDeployment({ mode: "replication", node: ["127.0.0.1:1=a"], replicas: "2" }, {})).toMatchObject({
      here: true,
      deployment: { shape: { primaries: 1, replicasPerPrimary: 2 } },
    });
  });

  it("come from a file too, with comments", () => {
    const directory = mkdtempSync(join(tmpdir(), "nodes-"));
    onTestFinished(() => {
      rmSync(directory, { recursive: true });
    });
    const file = join(directory, "nodes");
    writeFileSync(file, "# ours\n10.0.0.1:7001=zone-a\n\n10.0.0.2:7001 zone-b  # second\n");
    expect(
      externalDeployment({ mode: "cluster", nodes: file }, {}).deployment.nodes.map(
        ({ name, zone }) => `${name} ${zone ?? ""}`,
      ),
    ).toEqual(["10.0.0.1:7001 zone-a", "10.0.0.2:7001 zone-b"]);
  });

  it("are reached by TLS when any of its options is given", () => {
    expect(externalDeployment({ ...good, cacert: "ca.pem" }, {}).deployment.access.tls).toMatchObject({
      cacert: "ca.pem",
      insecure: false,
    });
    expect(externalDeployment(good, {}).deployment.access.tls).toBeUndefined();
  });

  it("cannot be asked without everything that is needed, said all at once", () => {
    const found = problems({
      node: ["nonsense", "host:99999=a", "h:1=a", "h:1=b"],
      primaries: "x",
      without: ["names"],
      nodes: "/no/such/file",
    });
    expect(found.length).toBe(7);
    expect(found).toContain("--without: expected settings or zones");
    expect(found.join("\n")).toMatch(/--mode: is missing; expected cluster or replication/);
    expect(found.join("\n")).toMatch(
      /--node: nonsense is not a node; expected HOST:PORT=ZONE, such as 127\.0\.0\.1:7001=zone-a/,
    );
    expect(found.join("\n")).toMatch(/--node: h:1 is named twice/);
    expect(problems({ mode: "cluster" })).toEqual([
      "--node: name every node as HOST:PORT=ZONE, or name a file of nodes with --nodes",
    ]);
  });
});
