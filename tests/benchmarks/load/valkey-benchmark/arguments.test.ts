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
  it("has the keys of each of 16384 hash tags as the key space of a cluster", () => {
    expect(valkeyBenchmarkArguments(run).join(" ")).toBe(
      "-h 10.0.0.1 -p 7001 --user u -a s3cret --cluster -c 48 -P 16 -d 256 --threads 3 -r 2 --seed 7 --duration 2 -t get",
    );
  });

  it("has the whole key space, a count of requests and no threads for one primary", () => {
    const single = {
      ...run,
      mode: "replication",
      workload: { ...load, threads: 1 },
      length: { requests: 500 },
      credentials: undefined,
    } as const;
    expect(valkeyBenchmarkArguments(single).join(" ")).toBe(
      "-h 10.0.0.1 -p 7001 -c 48 -P 16 -d 256 -r 32768 --seed 7 -n 500 -t get",
    );
    expect(usesThreads(single)).toBe(false);
  });

  it("has the rate and the TLS options", () => {
    const args = valkeyBenchmarkArguments({
      ...run,
      workload: { ...load, rate: 5000 },
      tls: { insecure: false, cacert: "ca.pem", sni: "valkey" },
    }).join(" ");
    expect(args).toContain("--rps 5000");
    expect(args).toContain("--tls --cacert ca.pem --sni valkey");
  });

  it("has a hash tag in the keys of commands for a cluster", () => {
    const args = (mode: ValkeyBenchmarkRun["mode"], test: "lrange_100" | "fcall"): string =>
      valkeyBenchmarkArguments({ ...run, mode, test: namedTest(test) }).join(" ");
    expect(args("cluster", "lrange_100")).toMatch(/ LRANGE mylist:\{tag\} 0 99$/);
    expect(args("replication", "lrange_100")).toMatch(/ LRANGE mylist 0 99$/);
    expect(args("cluster", "fcall")).toMatch(/ FCALL foo1 1 key:\{tag\}$/);
  });

  it("exists for every named test", () => {
    for (const name of TEST_NAMES)
      expect(valkeyBenchmarkArguments({ ...run, test: namedTest(name) }).length).toBeGreaterThan(15);
  });

  it("reads from replicas of a cluster where the workload does", () => {
    expect(valkeyBenchmarkArguments({ ...run, mode: "cluster", readFrom: "replica" }).join(" ")).toContain(
      "--cluster --rfr yes ",
    );
    expect(valkeyBenchmarkArguments({ ...run, mode: "cluster", readFrom: "any" }).join(" ")).toContain(
      "--cluster --rfr all ",
    );
    expect(valkeyBenchmarkArguments({ ...run, mode: "cluster", readFrom: "primary" })).not.toContain("--rfr");
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
