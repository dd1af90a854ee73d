/**
 * Servers that take one section and one pattern at a time, as Dragonfly does, are verified and measured like others.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Connection, connect } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import { createBenchmarkUser } from "../../benchmarks/load/benchmark-user";
import { CounterSampler } from "../../benchmarks/measuring/counters";
import { verify } from "../../valkey/verification/verify";
import { type PlainServer, startPlainServer } from "../support/valkey/plain-server";

let server: PlainServer;
let connection: Connection;
let deployment: Deployment;
beforeAll(async () => {
  server = await startPlainServer();
  const node = { name: "d-0", zone: "a", machine: "here", endpoint: { host: "127.0.0.1", port: server.port } };
  const access = { password: "p" };
  deployment = {
    name: "d",
    mode: "replication",
    shape: { primaries: 1, replicasPerPrimary: 0 },
    nodes: [node],
    zones: ["a"],
    directives: new Map(),
    access,
    connect: () => connect("d-0", node.endpoint, access),
  };
  connection = await deployment.connect(node);
});
afterAll(async () => {
  connection.disconnect();
  await server.close();
});

describe("a server that takes one section, one pattern and no subcommands", () => {
  it("is asked for everything, and judged by the compared settings", async () => {
    const { verdict, facts } = await verify(deployment);
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    const [node] = facts.nodes;
    expect(node?.settings).toEqual({
      known: true,
      value: new Map([
        ["maxmemory", "1000"],
        ["hz", "100"],
      ]),
    });
  });

  it("reports its counters", async () => {
    const sampler = new CounterSampler({ name: "d-0", connection }, ["get"], 1000);
    await sampler.start();
    const samples = await sampler.finish();
    expect(samples).toMatchObject([{ calls: 6, hits: 5, misses: 1, cpuSeconds: 4 }, { calls: 6 }]);
  });

  it("gets a user for the load that may read and write, but not configure", async () => {
    await createBenchmarkUser([{ name: "d-0", connection }]);
    const last =
      server.commands
        .filter(([command, sub]) => command?.toUpperCase() === "ACL" && sub?.toUpperCase() === "SETUSER")
        .at(-1) ?? [];
    expect(last.slice(3).filter((rule) => !rule.startsWith(">"))).toEqual([
      "ON",
      "~*",
      "+@READ",
      "+@WRITE",
      "+@CONNECTION",
      "+PING",
      "+INFO",
    ]);
  });
});
