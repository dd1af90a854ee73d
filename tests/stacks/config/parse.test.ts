import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBenchmark, parseConfig } from "../../../stacks/config/parse";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import type { OptionOverrides } from "../../../stacks/config/sections/option-overrides";
import { benchmarkOverrides, searchOverrides } from "../../../cli/running/options";
import { requestedCapacitySearch, capacityOptions } from "../../../cli/commands/capacity";
import {
  configuredCapacitySearch,
  fittedWorkload,
  hostPlans,
  configuredMixedWorkloads,
} from "../../../stacks/plan/benchmark-plans";
import type { HostConfig } from "../../../stacks/config/schema/platform";
import { nameOf, thrownProblems } from "../../support/problems";
import { parseStackFile } from "../../../stacks/config/sections/stack-file";
import { MACHINE, SMALL_STACK } from "../../support/stack-config";

type Raw = Record<string, unknown>;

const parsed = (raw: Raw, overrides?: OptionOverrides): StackConfig => parseConfig("stack x", raw, MACHINE, overrides);
const problems = (raw: Raw): readonly string[] => thrownProblems(() => parsed(raw)).map(nameOf);

describe("a stack's configuration", () => {
  it("is typed, with defaults, sizes in bytes and tests resolved", () => {
    const config = parsed(SMALL_STACK);
    expect(config.deployments["cluster"]).toEqual({
      mode: "cluster",
      primaries: 3,
      replicasPerPrimary: 1,
      engine: "valkey",
      settings: { maxmemory: 2 ** 28, "cluster-node-timeout": 5000, "cluster-ping-interval": 300 },
      passwordVersion: 0,
      passwordOverlapSeconds: 120,
      oversubscribed: false,
    });
    expect(config.benchmark).toMatchObject({ tests: ["set"], pipeline: 16, repeats: 3, keep: false });
    expect(fittedWorkload(config).length).toEqual({ seconds: 10 });
    expect(hostPlans(config.platform as HostConfig, config).map(({ name, shape }) => [name, shape])).toEqual([
      ["replication", { primaries: 1, replicasPerPrimary: 2 }],
      ["cluster", { primaries: 3, replicasPerPrimary: 1 }],
    ]);
  });

  it("gives the command line's workload the data of the file, whose servers have room for so much", () => {
    const given = (values: Raw): unknown => parsed(SMALL_STACK, benchmarkOverrides(values)).workloads;
    expect(given({ loadGenerator: "memtier" })).toMatchObject({ memtier: { keySpace: 98_304, dataSize: 64 } });
    expect(given({ loadGenerator: "open-loop", rate: 5, keyspaceLen: 16_384 })).toMatchObject({
      "open-loop": { keySpace: 16_384, values: { sizes: "fixed", bytes: 64 } },
    });
  });

  it("has workloads by name, of any load generator, measured instead of the tests where no test is named", () => {
    const mixed = {
      ...SMALL_STACK,
      benchmark: { duration: 3 },
      workloads: {
        plain: { clients: 51, keySpace: 98_304 },
        steady: { loadGenerator: "open-loop", rate: 5000, keys: { distribution: "zipfian" }, keySpace: 98_304 },
      },
    };
    const config = parsed(mixed);
    expect(config.benchmark.tests).toEqual([]);
    expect(config.measures).toBe(true);
    expect(configuredMixedWorkloads(config)).toMatchObject([
      { loadGenerator: "valkey-benchmark", name: "plain", reads: 0.9, rate: undefined, length: { seconds: 3 } },
      {
        loadGenerator: "open-loop",
        name: "steady",
        arrivals: "poisson",
        keys: { distribution: "zipfian", theta: 0.99 },
        values: { sizes: "fixed", bytes: 256 },
        timeoutMs: 5000,
        length: { seconds: 3 },
      },
    ]);
    expect(parsed({ ...mixed, benchmark: { tests: "get" } }).benchmark.tests).toEqual(["get"]);
  });

  it("searches for the capacity of what is offered by the open loop, unless the command line offers something else", () => {
    const raw = {
      ...SMALL_STACK,
      workloads: { w: { loadGenerator: "open-loop", rate: 1, keySpace: 98_304 } },
      capacity: { objective: "p99.9=500us", maxRate: 5000 },
    };
    expect(configuredCapacitySearch(parsed(raw))).toMatchObject({
      workload: { name: "w", loadGenerator: "open-loop" },
      objective: { ms: 0.5 },
      search: { initialRate: 1000, maxRate: 5000, precision: 0.1, confirmations: 3 },
    });
    expect(configuredCapacitySearch(parsed(raw, benchmarkOverrides({ loadGenerator: "memtier" })))).toBeUndefined();
    expect(configuredCapacitySearch(parsed(SMALL_STACK))).toBeUndefined();
    expect(
      configuredCapacitySearch(
        parsed(
          { ...raw, capacity: { ...raw.capacity, workload: "w" } },
          benchmarkOverrides({ loadGenerator: "open-loop", rate: 7 }),
        ),
      ),
    ).toMatchObject({ workload: { name: "open-loop", rate: 7 }, objective: { ms: 0.5 }, search: { maxRate: 5000 } });
    const of = (values: Raw, from: Raw = raw): unknown =>
      requestedCapacitySearch(parsed(from, searchOverrides(values)), capacityOptions(values));
    expect(of({ precision: "0.5" })).toMatchObject({
      objective: { ms: 0.5 },
      search: { maxRate: 5000, precision: 0.5 },
    });
    expect(of({ objective: "p50=3ms" }, SMALL_STACK)).toMatchObject({
      workload: { name: "open-loop", values: { bytes: 64 } },
      objective: { quantile: 0.5, ms: 3 },
      search: { maxRate: 10_000_000 },
    });
    expect(() => of({}, SMALL_STACK)).toThrow(/--objective is missing, and the stack has no valkey:capacity/);
    expect(() => of({ objective: "p99", initialRate: "0" })).toThrow(
      /--objective: "p99" is not an objective[^]*--initial-rate is 0: expected a whole number from 1/,
    );
  });

  it("reports everything at once: mistakes of form in one part do not hide contradictions in another", () => {
    const found = problems({
      platform: { type: "host", zones: ["a", "b", "c"] },
      deployments: {
        cluster: { mode: "cluster", primaries: 3, settings: { "io-threads": 9, maxmemory: "64gb" } },
        other: { mode: "cluster", primaries: 2 },
      },
      benchmark: { clients: 50, threads: 3 },
      surplus: 1,
    });
    expect(found).toEqual(
      expect.arrayContaining([
        "unknown-key surplus",
        "wrong-value deployments.other.primaries",
        "more-threads-than-cores deployments.cluster.settings.io-threads",
        "memory-exceeds-machine deployments.cluster.settings.maxmemory",
        "uneven-load benchmark.clients",
      ]),
    );
  });

  it("does not miss a workload that is there and not understood", () => {
    expect(
      problems({
        ...SMALL_STACK,
        workloads: { steady: { loadGenerator: "open-loop", rate: 1, duration: 1 } },
        capacity: { objective: "p99=2ms", workload: "steady" },
      }),
    ).toEqual(["unknown-key workloads.steady.duration"]);
  });

  it("never fails in any other way, whatever it is given", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("platform", "deployments", "benchmark", "workloads", "x"), fc.jsonValue()),
        (raw) => {
          problems(raw);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("options", () => {
  const overrides = (values: Raw): OptionOverrides => ({
    benchmark: values,
    options: { clients: "--clients", dataSize: "--datasize", requests: "--requests" },
  });

  it("replace the file's values, and a duration a count", () => {
    const config = parsed(
      { ...SMALL_STACK, benchmark: { ...SMALL_STACK.benchmark, duration: 5 } },
      overrides({ clients: 96, requests: 1000 }),
    );
    expect(config.benchmark).toMatchObject({ clients: 96, requests: 1000 });
    expect(fittedWorkload(config).length).toEqual({ requests: 1000 });
  });

  it("make a mixed workload of their own, which takes the place of tests and workloads", () => {
    const mixed = (values: Raw): OptionOverrides =>
      benchmarkOverrides({ loadGenerator: "open-loop", duration: 2, ...values });
    const config = parsed(
      SMALL_STACK,
      mixed({ rate: 500, datasize: 64, keys: { distribution: "zipfian" }, keyspaceLen: 16_384 }),
    );
    expect(config.benchmark.tests).toEqual([]);
    expect(configuredMixedWorkloads(config)).toMatchObject([
      {
        name: "open-loop",
        loadGenerator: "open-loop",
        rate: 500,
        values: { sizes: "fixed", bytes: 64 },
        keys: { distribution: "zipfian", theta: 0.99 },
        length: { seconds: 2 },
      },
    ]);
    expect(parseBenchmark(mixed({ rate: 500 }))).toMatchObject({
      benchmark: { tests: [] },
      workloads: { "open-loop": { rate: 500 } },
    });
  });

  it("stand alone where there is no stack", () => {
    expect(parseBenchmark(overrides({ clients: 60 })).benchmark).toMatchObject({
      clients: 60,
      tests: ["set", "get", "incr"],
    });
    expect(() => parseBenchmark(overrides({ clients: -1 }))).toThrow(/--clients is -1/);
  });
});

describe("a stack file", () => {
  it("is Pulumi's own: namespaced keys, others' namespaces left alone", () => {
    expect(
      parseStackFile("f", "encryptionsalt: v1\nconfig:\n  valkey:platform: {type: host}\n  aws:region: us-west-2\n"),
    ).toEqual({ platform: { type: "host" } });
  });
});
