import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../support/directory";
import { externalDeployment } from "../../../cli/targets/external";
import { testProblems, thrownProblems } from "../../support/problems";

const good = { mode: "cluster", node: ["127.0.0.1:7001=zone-a", "[::1]:7002=zone-b", "valkey.example.internal:7003"] };

const WRONG = {
  node: ["nonsense", "host:99999=a", "h:1=a", "h:1=b"],
  primaries: "x",
  without: ["names"],
  nodes: "/no/such/file",
};

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
    const replication = { mode: "replication", node: ["127.0.0.1:1=a"] };
    expect(() => externalDeployment({ ...replication, primaries: "3" }, {})).toThrow(
      "--primaries: is 3; a replication has 1 primary",
    );
    expect(externalDeployment({ ...replication, primaries: "1" }, {}).deployment.shape).toEqual({ primaries: 1 });
    expect(here).toBe(false);
    expect(externalDeployment({ mode: "replication", node: ["127.0.0.1:1=a"], replicas: "2" }, {})).toMatchObject({
      here: true,
      deployment: { shape: { primaries: 1, replicasPerPrimary: 2 } },
    });
  });

  it.each(["0", "2.5", "-1", ""])("have no number of primaries such as %j, and the message says which", (primaries) => {
    expect(() => externalDeployment({ ...good, primaries }, {})).toThrow("expected a whole number of at least 1");
  });

  it("come from a file too, with comments", () => {
    const file = join(temporaryDirectory(), "nodes");
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

  testProblems("../problems.txt", (values: object) => thrownProblems(() => externalDeployment({ ...values }, {})), [
    ...(["missing --mode", "wrong-value --primaries", "wrong-value --without", "not-a-node --node"] as const).map(
      (name): [string, object] => [name, WRONG],
    ),
    ["node-twice --node", WRONG],
    ["unreadable --nodes", WRONG],
    ["missing --node", { mode: "cluster" }],
  ]);

  it("have each of these problems once", () => {
    const found = thrownProblems(() => externalDeployment(WRONG, {}));
    expect(found.map(({ path }) => path).sort()).toEqual([
      "--mode",
      "--node",
      "--node",
      "--node",
      "--nodes",
      "--primaries",
      "--without",
    ]);
  });
});
