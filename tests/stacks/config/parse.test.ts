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
import { expectReviewed } from "../../support/reviewed";
import { parseStackFile } from "../../../stacks/config/sections/stack-file";
import { MACHINE, SMALL_STACK } from "../../support/stack-config";
import { forAll } from "../../support/properties";

type Raw = Record<string, unknown>;

const parsed = (raw: Raw, overrides?: OptionOverrides): StackConfig => parseConfig("stack x", raw, MACHINE, overrides);
const problems = (raw: Raw): readonly string[] => thrownProblems(() => parsed(raw)).map(nameOf);

/** Configuration that a stack's file and options give. */
function told(raw: Raw, overrides?: OptionOverrides): object {
  const config = parsed(raw, overrides);
  const { deployments, benchmark, measures } = config;
  const plans = hostPlans(config.platform as HostConfig, config).map(({ name, shape }) => ({ name, ...shape }));
  const mixed = configuredMixedWorkloads(config);
  const capacity = configuredCapacitySearch(config) ?? "none";
  return { deployments, plans, benchmark, measures, length: fittedWorkload(config).length, mixed, capacity };
}
const SEARCHED = {
  ...SMALL_STACK,
  workloads: { w: { loadGenerator: "open-loop", rate: 1, keySpace: 98_304 } },
  capacity: { objective: "p99.9=500us", maxRate: 5000 },
};
const countOptions = (values: Raw): OptionOverrides => ({
  benchmark: values,
  options: { clients: "--clients", dataSize: "--datasize", requests: "--requests" },
});
const openLoop = (values: Raw): OptionOverrides => benchmarkOverrides({ loadGenerator: "open-loop", ...values });

describe("a stack's configuration", () => {
  const mixed = {
    ...SMALL_STACK,
    benchmark: { duration: 3 },
    workloads: {
      plain: { clients: 51, keySpace: 98_304 },
      steady: { loadGenerator: "open-loop", rate: 5000, keys: { distribution: "zipfian" }, keySpace: 98_304 },
    },
  };
  const withDuration = { ...SMALL_STACK, benchmark: { ...SMALL_STACK.benchmark, duration: 5 } };
  const own = { rate: 500, duration: 2, datasize: 64, keys: { distribution: "zipfian" }, keyspaceLen: 16_384 };

  it("is typed, with defaults and sizes in bytes, and options take the place of the file's values and workloads", async () => {
    await expectReviewed("stacks/configurations", "What becomes of configurations and options.", {
      tests: told(SMALL_STACK),
      "workloads by name": told(mixed),
      "workloads and a test": told({ ...mixed, benchmark: { tests: "get" } }),
      "a search": told(SEARCHED),
      "a search and another load generator": told(SEARCHED, benchmarkOverrides({ loadGenerator: "memtier" })),
      "a search for a workload and another on the command line": told(
        { ...SEARCHED, capacity: { ...SEARCHED.capacity, workload: "w" } },
        openLoop({ rate: 7 }),
      ),
      "a count in options and a duration in the file": told(
        withDuration,
        countOptions({ clients: 96, requests: 1000 }),
      ),
      "a workload of options": told(SMALL_STACK, openLoop(own)),
      "options without a stack": parseBenchmark(countOptions({ clients: 60 })),
      "a workload without a stack": parseBenchmark(openLoop({ rate: 500 })),
    });
    expect(() => parseBenchmark(countOptions({ clients: -1 }))).toThrow(/--clients is -1/);
  });

  it("gives the command line's workload the data of the file, whose servers have room for so much", () => {
    const given = (values: Raw): unknown => parsed(SMALL_STACK, benchmarkOverrides(values)).workloads;
    expect(given({ loadGenerator: "memtier" })).toMatchObject({ memtier: { keySpace: 98_304, dataSize: 64 } });
    expect(given({ loadGenerator: "open-loop", rate: 5, keyspaceLen: 16_384 })).toMatchObject({
      "open-loop": { keySpace: 16_384, values: { sizes: "fixed", bytes: 64 } },
    });
  });

  it("searches for the capacity that the command line asks for", () => {
    const of = (values: Raw, from: Raw = SEARCHED): unknown =>
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
    forAll(
      [fc.dictionary(fc.constantFrom("platform", "deployments", "benchmark", "workloads", "x"), fc.jsonValue())],
      { numRuns: 300 },
      (raw) => {
        problems(raw);
      },
    );
  });
});

describe("a stack file", () => {
  it("is Pulumi's own: namespaced keys, others' namespaces left alone", () => {
    expect(
      parseStackFile("f", "encryptionsalt: v1\nconfig:\n  valkey:platform: {type: host}\n  aws:region: us-west-2\n"),
    ).toEqual({ platform: { type: "host" } });
  });
});
