import { describe, expect, it } from "vitest";
import { type MemtierRun, memtierArguments } from "../../../../benchmarks/load/memtier/arguments";
import { withoutSecrets } from "../../../../benchmarks/load/valkey-benchmark/arguments";
import { findMemtier } from "../../../../benchmarks/measuring/local-load-drivers";
import type { MemtierWorkload } from "../../../../benchmarks/workloads/mixed-workload";
import { expectReviewed } from "../../../support/reviewed";

const MIX: MemtierWorkload = {
  loadGenerator: "memtier",
  name: "m",
  data: "strings",
  reads: 0.75,
  keySpace: 100,
  clients: 12,
  pipeline: 4,
  dataSize: 32,
  threads: 2,
  rate: undefined,
  length: { seconds: 3 },
  warmup: 0,
};
const run = (mix: Partial<MemtierWorkload> = {}, changes: Partial<MemtierRun> = {}): MemtierRun => ({
  mix: { ...MIX, ...mix },
  mode: "replication",
  endpoint: { host: "10.0.0.1", port: 6379 },
  primaries: 1,
  credentials: undefined,
  tls: undefined,
  ...changes,
});
const line = (of: MemtierRun): string => memtierArguments(of, "out.json").join(" ");

describe("the command line of memtier_benchmark", () => {
  it("has shares, keys, connections per primary, commands for sorted sets, and the rate of a connection", async () => {
    await expectReviewed("benchmarks/memtier-arguments", "Command lines of memtier_benchmark.", {
      replication: line(run()),
      "a cluster, in which each client has a connection to each primary": line(
        run({}, { mode: "cluster", primaries: 3 }),
      ),
      "sorted sets": line(run({ data: "sorted-sets", reads: 0.9 })),
      "a rate": line(run({ rate: 1_200 })),
    });
    expect(() => line(run({ rate: 1_000 }))).toThrow(
      "memtier cannot share rate 1000 evenly over 12 connections: each connection needs a whole number of requests per second; nearest rates: 996 or 1008",
    );
  });

  it("can be shown without the password", () => {
    const args = memtierArguments(
      run({}, { credentials: { username: "u", password: "secret" }, tls: { cacert: "ca.pem", insecure: true } }),
      "x",
    );
    expect(args).toContain("u:secret");
    expect(args).toContain("--tls-skip-verify");
    expect(withoutSecrets(args).join(" ")).not.toContain("secret");
  });
});

describe("memtier_benchmark", () => {
  it("that is missing gives a message with how to install it", () => {
    expect(() => findMemtier({ PATH: "/nowhere" })).toThrow(
      /there is no memtier_benchmark on the PATH; install it .* valkey-benchmark sends the same/,
    );
    expect(() => findMemtier({ MEMTIER: "/nowhere/m", PATH: "" })).toThrow(
      /MEMTIER is \/nowhere\/m, which cannot be run/,
    );
  });
});
