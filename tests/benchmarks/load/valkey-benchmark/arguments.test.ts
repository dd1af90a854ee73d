import { describe, expect, it } from "vitest";
import type { ValkeyBenchmarkRun } from "../../../../benchmarks/load/valkey-benchmark/arguments";
import {
  effectiveLength,
  MIN_SECONDS_WITH_TICK,
  CLOCK_TICK_SECONDS,
  valkeyBenchmarkArguments,
  usesThreads,
  withoutSecrets,
} from "../../../../benchmarks/load/valkey-benchmark/arguments";
import { namedTest, TEST_NAMES } from "../../../../benchmarks/workloads/named-tests";
import { expectReviewed } from "../../../support/reviewed";
import { toolRun, workload } from "../../../support/benchmarks/tool-runs";

const load = workload({
  tests: ["get"],
  clients: 48,
  pipeline: 16,
  dataSize: 256,
  threads: 3,
  keySpace: 32_768,
  length: { seconds: 2 },
});
const run = toolRun({
  mode: "cluster",
  endpoint: { host: "10.0.0.1", port: 7001 },
  test: namedTest("get"),
  workload: load,
  seed: 7,
  credentials: { username: "u", password: "s3cret" },
});

describe("the command line of valkey-benchmark", () => {
  it("has the key space, rate, TLS and hash tags that its deployment needs", async () => {
    const single = {
      ...run,
      mode: "replication",
      workload: { ...load, threads: 1 },
      length: { requests: 500 },
      credentials: undefined,
    } as const;
    expect(usesThreads(single)).toBe(false);
    const tls = { insecure: false, cacert: "ca.pem", sni: "valkey" };
    const cases: Readonly<Record<string, ValkeyBenchmarkRun>> = {
      "a cluster, whose key space is the keys of each of 16384 hash tags": run,
      "one primary with the whole key space, a count of requests and no threads": single,
      "a rate and TLS": { ...run, workload: { ...load, rate: 5000 }, tls },
      "a command for a cluster": { ...run, test: namedTest("lrange_100") },
      "a command for one primary": { ...run, mode: "replication", test: namedTest("lrange_100") },
      "a function for a cluster": { ...run, test: namedTest("fcall") },
      "reads from replicas": { ...run, readFrom: "replica" },
      "reads from any node": { ...run, readFrom: "any" },
      "reads from primaries": { ...run, readFrom: "primary" },
    };
    const found = Object.entries(cases).map(
      ([what, each]) => [what, valkeyBenchmarkArguments(each).join(" ")] as const,
    );
    await expectReviewed("benchmarks/valkey-benchmark-arguments", "Command lines of valkey-benchmark.", found);
  });

  it("exists for every named test", () => {
    for (const name of TEST_NAMES)
      expect(valkeyBenchmarkArguments({ ...run, test: namedTest(name) }).length).toBeGreaterThan(15);
  });

  it("can be shown without the password", () => {
    expect(withoutSecrets(valkeyBenchmarkArguments(run)).join(" ")).not.toContain("s3cret");
  });
});

describe("effectiveLength", () => {
  const old = { duration: false, rate: false, readFrom: false };
  it("is the configured length where valkey-benchmark has an option for it", () => {
    expect(effectiveLength(load, "cluster", { duration: true, rate: true, readFrom: true }, 1e6)).toEqual({
      seconds: 2,
    });
    expect(effectiveLength({ ...load, length: { requests: 9 } }, "cluster", old, 1e6)).toEqual({ requests: 9 });
  });

  it("is a count of requests of which a tick is at most 1 % where there are threads and no --duration", () => {
    const length = effectiveLength(load, "cluster", old, 100_000);
    expect("requests" in length && CLOCK_TICK_SECONDS / (length.requests / 100_000)).toBeLessThanOrEqual(0.01);
    expect(MIN_SECONDS_WITH_TICK).toBe(25);
  });

  it("is the configured length without threads, at no more than the offered rate", () => {
    const single = { ...load, threads: 1 };
    expect(effectiveLength(single, "replication", old, 100_000)).toEqual({ requests: 200_000 });
    expect(effectiveLength({ ...single, rate: 1000 }, "replication", old, 100_000)).toEqual({ requests: 2000 });
  });
});
