import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadInput } from "../../../lib/errors";
import { parseBenchmark, parseConfig } from "../../../stacks/config/parse";
import type { OptionOverrides } from "../../../stacks/config/sections/option-overrides";
import { benchmarkOverrides } from "../../../cli/options/options";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { requestedCapacitySearch, capacityOptions } from "../../../cli/commands/capacity";
import {
  configuredCapacitySearch,
  fittedWorkload,
  hostPlans,
  configuredMixedWorkloads,
} from "../../../stacks/plan/benchmark-plans";
import type { HostConfig } from "../../../stacks/config/schema/platform";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { parseStackFile, readStackFile, stackNames } from "../../../stacks/config/sections/stack-file";

const MACHINE = { cores: 2, memoryBytes: 16 * 2 ** 30 };
const good = {
  platform: { type: "host", zones: ["a", "b", "c"] },
  deployments: {
    replication: { mode: "replication", replicas: 2 },
    cluster: { mode: "cluster", primaries: 3, settings: { maxmemory: "256mb" } },
  },
  benchmark: { tests: ["set"], clients: 48, threads: 3, keySpace: 98_304, dataSize: 64 },
};

type Raw = Record<string, unknown>;

function problems(raw: Raw, machine = MACHINE, overrides?: OptionOverrides): readonly string[] {
  try {
    parseConfig("stack x", raw, machine, overrides);
    return [];
  } catch (error) {
    if (error instanceof BadInput) return error.problems;
    throw error;
  }
}

const deployment = (changes: Raw): Raw => ({
  ...good,
  deployments: { cluster: { ...good.deployments.cluster, ...changes } },
});
const settings = (changes: Raw): Raw => deployment({ settings: changes });
const study = (changes: Raw): Raw => ({
  ...good,
  benchmark: { ...good.benchmark, clients: 48, threads: 1 },
  study: changes,
});
const benchmark = (changes: Raw): Raw => ({ ...good, benchmark: { ...good.benchmark, ...changes } });
const workload = (changes: Raw): Raw => ({ ...good, workloads: { w: changes } });
const capacity = (changes: Raw): Raw => ({
  ...good,
  workloads: { w: { loadGenerator: "open-loop", rate: 1, keySpace: 98_304 }, plain: { clients: 51, keySpace: 98_304 } },
  capacity: changes,
});

describe("a stack's configuration", () => {
  it("is typed, with defaults, sizes in bytes and tests resolved", () => {
    const config = parseConfig("stack x", good, MACHINE);
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
    const given = (values: Raw): unknown => parseConfig("stack x", good, MACHINE, benchmarkOverrides(values)).workloads;
    expect(given({ loadGenerator: "memtier" })).toMatchObject({ memtier: { keySpace: 98_304, dataSize: 64 } });
    expect(given({ loadGenerator: "open-loop", rate: 5, keyspaceLen: 16_384 })).toMatchObject({
      "open-loop": { keySpace: 16_384, values: { sizes: "fixed", bytes: 64 } },
    });
  });

  it("has workloads by name, of any load generator, measured instead of the tests where no test is named", () => {
    const mixed = {
      ...good,
      benchmark: { duration: 3 },
      workloads: {
        plain: { clients: 51, keySpace: 98_304 },
        steady: { loadGenerator: "open-loop", rate: 5000, keys: { distribution: "zipfian" }, keySpace: 98_304 },
      },
    };
    const config = parseConfig("stack x", mixed, MACHINE);
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
    expect(parseConfig("stack x", { ...mixed, benchmark: { tests: "get" } }, MACHINE).benchmark.tests).toEqual(["get"]);
  });

  it("searches for the capacity of what is offered by the open loop, unless the command line offers something else", () => {
    const raw = capacity({ objective: "p99.9=500us", maxRate: 5000 });
    expect(configuredCapacitySearch(parseConfig("stack x", raw, MACHINE))).toMatchObject({
      workload: { name: "w", loadGenerator: "open-loop" },
      objective: { ms: 0.5 },
      search: { initialRate: 1000, maxRate: 5000, precision: 0.1, confirmations: 3 },
    });
    expect(
      configuredCapacitySearch(parseConfig("stack x", raw, MACHINE, benchmarkOverrides({ loadGenerator: "memtier" }))),
    ).toBeUndefined();
    expect(configuredCapacitySearch(parseConfig("stack x", good, MACHINE))).toBeUndefined();
    expect(
      configuredCapacitySearch(
        parseConfig(
          "stack x",
          { ...raw, capacity: { ...(raw["capacity"] as Raw), workload: "w" } },
          MACHINE,
          benchmarkOverrides({ loadGenerator: "open-loop", rate: 7 }),
        ),
      ),
    ).toMatchObject({ workload: { name: "open-loop", rate: 7 }, objective: { ms: 0.5 }, search: { maxRate: 5000 } });
    const of = (values: Raw, from = raw): unknown =>
      requestedCapacitySearch(parseConfig("stack x", from, MACHINE), capacityOptions(values));
    expect(of({ precision: "0.5" })).toMatchObject({
      objective: { ms: 0.5 },
      search: { maxRate: 5000, precision: 0.5 },
    });
    expect(of({ objective: "p50=3ms" }, good)).toMatchObject({
      workload: { name: "reads and writes", values: { bytes: 64 } },
      objective: { quantile: 0.5, ms: 3 },
      search: { maxRate: 10_000_000 },
    });
    expect(() => of({}, good)).toThrow(/--objective is missing, and the stack has no valkey:capacity/);
    expect(() => of({ objective: "p99", initialRate: "0" })).toThrow(
      /--objective: "p99" is not an objective[^]*--initial-rate is 0: expected a whole number from 1/,
    );
  });

  it("has no problems in any stack file there is, on a machine it is meant for", () => {
    expect(stackNames(STACKS_DIRECTORY)).toContain("local");
    for (const name of stackNames(STACKS_DIRECTORY))
      expect(problems(readStackFile(STACKS_DIRECTORY, name)), name).toEqual([]);
  });

  it.each<[string, Raw, RegExp | string]>([
    [
      "rules that hold a password",
      deployment({ users: { app: { rules: "+get >secret ~*" } } }),
      "valkey:deployments.cluster.users.app.rules: expected only rules for commands, keys and channels; passwords, on, off and reset are not allowed",
    ],
    [
      "a user who is there already",
      deployment({ users: { default: { rules: "+get ~*" } } }),
      /^valkey:deployments\.cluster\.users.*default.* is the user with all rights, and its password is the password of the deployment; choose a different name$/,
    ],
    [
      "users on the platform host",
      deployment({ users: { app: { rules: "+get ~*" } } }),
      "valkey:deployments.cluster.users: the platform host has only the user default",
    ],
    [
      "clients outside on the platform host",
      deployment({ external: { type: "NodePort" } }),
      "valkey:deployments.cluster.external: the platform host has no Services; its servers are reached only on this machine",
    ],
    [
      "a type of Services for clients outside that there is not",
      deployment({ external: { type: "ClusterIP" } }),
      'valkey:deployments.cluster.external.type is "ClusterIP": expected one of LoadBalancer, NodePort',
    ],
    [
      "blocks of addresses for node ports",
      {
        ...deployment({ external: { type: "NodePort", sourceRanges: ["10.0.0.0/8"] } }),
        platform: { type: "kubernetes", zones: ["a", "b", "c"] },
      },
      "valkey:deployments.cluster.external.sourceRanges: only load balancers apply source ranges; for node ports set the firewall of the machines",
    ],
    [
      "a misspelt section",
      { ...good, benchmarks: {} },
      "valkey:benchmarks: unknown key; did you mean benchmark? Allowed keys: platform, deployments, verification, benchmark, workloads, capacity, study, failures",
    ],
    [
      "a misspelt key",
      benchmark({ client: 3 }),
      /^valkey:benchmark\.client: unknown key; did you mean clients\? Allowed keys: workloadName, tests, /,
    ],
    [
      "a misspelt key in a deployment",
      deployment({ primarys: 3 }),
      /^valkey:deployments\.cluster\.primarys: unknown key; did you mean primaries\? Allowed keys: mode, primaries, replicasPerPrimary, engine, settings, newerDirectives, passwordVersion, passwordSecret, passwordOverlapSeconds, users, external, controller, backup, restoreFrom, oversubscribed, pods$/,
    ],
    [
      "a misspelt setting",
      settings({ "io-thread": 1 }),
      /settings\.io-thread: .* no directive of this name; did you mean io-threads\?/,
    ],
    [
      "a key of another mode",
      { ...good, deployments: { r: { mode: "replication", primaries: 3 } } },
      "valkey:deployments.r.primaries: unknown key; Allowed keys: mode, replicas, sentinel, chart, engine, settings, newerDirectives, passwordVersion, passwordSecret, passwordOverlapSeconds, users, external, controller, backup, restoreFrom, oversubscribed, pods",
    ],
    [
      "a wrong type",
      benchmark({ clients: "many" }),
      'valkey:benchmark.clients is "many": expected a whole number from 1 to 100000',
    ],
    [
      "a fraction",
      benchmark({ clients: 4.5 }),
      "valkey:benchmark.clients is 4.5: expected a whole number from 1 to 100000",
    ],
    [
      "too small a number",
      benchmark({ clients: 0 }),
      /valkey:benchmark\.clients is 0: expected a whole number from 1 to 100000$/,
    ],
    [
      "a mode that is none",
      deployment({ mode: "sharded" }),
      'valkey:deployments.cluster.mode is "sharded": expected one of replication, cluster',
    ],
    [
      "a mode that is missing",
      { ...good, deployments: { x: {} } },
      "valkey:deployments.x.mode is missing: expected one of replication, cluster",
    ],
    [
      "a platform that is none",
      { ...good, platform: { type: "moon" } },
      'valkey:platform.type is "moon": expected one of host, kubernetes, eks',
    ],
    ["no platform", { deployments: good.deployments }, "valkey:platform is missing: expected a map"],
    ["no deployments", { ...good, deployments: {} }, "valkey:deployments: expected at least one deployment, by name"],
    [
      "a bad name",
      { ...good, deployments: { "My Cluster": good.deployments.cluster } },
      /valkey:deployments\.My Cluster: expected lower-case letters/,
    ],
    [
      "an unknown test",
      benchmark({ tests: ["set", "sett"] }),
      /valkey:benchmark\.tests: sett is not one of valkey-benchmark's tests: ping_inline, /,
    ],
    [
      "a policy that is none",
      settings({ "maxmemory-policy": "lru" }),
      /maxmemory-policy is "lru": expected one of noeviction, /,
    ],
    [
      "a size that is none",
      settings({ maxmemory: "lots" }),
      "valkey:deployments.cluster.settings.maxmemory: expected bytes, or a size such as 256mb or 1gb",
    ],
    [
      "a directive that is ours",
      settings({ port: 7000 }),
      "valkey:deployments.cluster.settings.port: the deployment decides this directive itself: Services, probes and other nodes expect the ports that the deployment chooses",
    ],
    ["a line break in a directive", settings({ hz: "10\nport 1" }), /settings\.hz/],
    [
      "too few primaries",
      deployment({ primaries: 2 }),
      "valkey:deployments.cluster.primaries is 2: a cluster needs at least 3 primaries",
    ],
    [
      "io-threads on every core",
      settings({ "io-threads": 2 }),
      "valkey:deployments.cluster.settings.io-threads: 2 threads on 2 cores, but idle threads spin; expected at most 1, or oversubscribed: true to measure what more threads cost",
    ],
    [
      "more memory than there is",
      settings({ maxmemory: "8gb" }),
      /settings\.maxmemory: together 48\.0 GiB \(cluster 48\.0 GiB\) on a machine of 16\.0 GiB; expected at most 14\.4 GiB/,
    ],
    [
      "clients that no primary count divides",
      benchmark({ clients: 50 }),
      "valkey:benchmark.clients: 50 clients cannot be shared evenly by 3 primaries and 3 threads of cluster, so primaries would get unequal shares of the keys; nearest values: 48 or 51",
    ],
    [
      "threads that no primary count divides",
      benchmark({ threads: 4 }),
      /valkey:benchmark\.threads: 4 threads cannot be shared evenly by 3 primaries of cluster.*: 3 or 6/,
    ],
    [
      "values that do not fit a primary",
      benchmark({ dataSize: 65_536 }),
      /valkey:benchmark\.keySpace × valkey:benchmark\.dataSize: 98304 keys of 65536 B need about .* on each primary of cluster, whose maxmemory is 256 MiB/,
    ],
    [
      "values that do not fit the machine",
      { ...benchmark({ dataSize: 1_000_000 }), deployments: { r: { mode: "replication", replicas: 2 } } },
      /need about .* on all nodes together; this machine has 16\.0 GiB/,
    ],
    [
      "more zones than nodes",
      { ...good, deployments: { r: { mode: "replication", replicas: 1 } } },
      "valkey:platform.zones: 3 zones are more than the 2 nodes of r; expected at most 2",
    ],
    [
      "one zone",
      { ...good, platform: { type: "host", zones: ["a"] } },
      /one zone cannot keep the replicas of replication apart from their primaries; expected at least 2/,
    ],
    [
      "a zone twice",
      { ...good, platform: { type: "host", zones: ["a", "b", "a"] } },
      "valkey:platform.zones: a zone is named twice",
    ],
    [
      "writes that no primary would take",
      settings({ "min-replicas-to-write": 2 }),
      /min-replicas-to-write: with 2, no primary would accept writes; expected at most 1, the number of replicas of a primary/,
    ],
    [
      "a directive that no server has",
      settings({ "tcp-backlg": 511 }),
      "valkey:deployments.cluster.settings.tcp-backlg: Valkey 8.1 to 9.1 has no directive of this name; did you mean tcp-backlog? If a newer version has the directive, name it in newerDirectives",
    ],
    ["a directive with a line break in its name", settings({ "hz 10\nport": 1 }), /expected the name of a directive/],
    [
      "settings in a map of their own",
      settings({ other: { hz: 10 } }),
      /settings\.other is \{"hz":10\}: expected a text or a number or true or false/,
    ],
    [
      "a load generator that is none",
      workload({ loadGenerator: "wrk" }),
      'valkey:workloads.w.loadGenerator is "wrk": expected one of valkey-benchmark, open-loop, memtier',
    ],
    [
      "no rate to offer",
      workload({ loadGenerator: "open-loop" }),
      "valkey:workloads.w.rate is missing: expected a whole number from 1 to 100000000",
    ],
    ["a capacity without an objective", capacity({}), "valkey:capacity.objective is missing: expected a text"],
    [
      "an objective that is none",
      capacity({ objective: "p99" }),
      'valkey:capacity.objective: "p99" is not an objective: expected a percentile and a latency, such as p99=2ms or p99.9=500us',
    ],
    [
      "a capacity with nothing to offer",
      { ...good, capacity: { objective: "p99=2ms" } },
      "valkey:capacity: the search needs an open-loop workload, and valkey:workloads has none",
    ],
    [
      "a capacity of a closed loop",
      capacity({ objective: "p99=2ms", workload: "plain" }),
      "valkey:capacity.workload: plain is not an open-loop workload; expected one of w",
    ],
    [
      "a key of another load generator",
      workload({ arrivals: "fixed" }),
      /^valkey:workloads\.w\.arrivals: unknown key; Allowed keys: loadGenerator, data, reads, /,
    ],
    [
      "a share of reads in per cent",
      workload({ reads: 90 }),
      /valkey:workloads\.w\.reads is 90: expected a number from 0 to 1/,
    ],
    [
      "sizes the wrong way round",
      workload({ loadGenerator: "open-loop", rate: 1, values: { sizes: "uniform", min: 9, max: 3 } }),
      "valkey:workloads.w.values.max: expected at least min",
    ],
    [
      "a distribution that is none",
      workload({ loadGenerator: "open-loop", rate: 1, keys: { distribution: "zipf" } }),
      'valkey:workloads.w.keys.distribution is "zipf": expected one of uniform, zipfian, hot-set',
    ],
    [
      "reads from replicas by what would write to them",
      workload({ reads: 0.5, clients: 51, keySpace: 98_304, readFrom: "replica" }),
      /readFrom: valkey-benchmark reads from replicas only in cluster mode and with reads: 1.*; the load generator open-loop reads from replicas in both modes/,
    ],
    [
      "a rate that memtier cannot share",
      workload({ loadGenerator: "memtier", clients: 51, keySpace: 98_304, rate: 1000 }),
      "valkey:workloads.w.rate is 1000: memtier_benchmark needs a rate that is a multiple of 51, the number of its connections; nearest values: 969 or 1020",
    ],
    [
      "workers that share clients unevenly",
      workload({ loadGenerator: "open-loop", rate: 1, workers: 5 }),
      "valkey:workloads.w.clients: 48 clients cannot be shared evenly by the 5 workers of replication; nearest values: 45 or 50",
    ],
    [
      "replicas to read from that are not there",
      {
        ...workload({ loadGenerator: "open-loop", rate: 1, readFrom: "replica" }),
        deployments: { r: { mode: "replication", replicas: 0 } },
      },
      "valkey:workloads.w.readFrom: r has no replicas to read from; expected primary or any",
    ],
    [
      "values of a workload that do not fit",
      workload({ dataSize: 65_536 }),
      /valkey:workloads\.w\.keySpace: 999424 keys of 65536 B need about .* on each primary of cluster, whose maxmemory is 256 MiB/,
    ],
    [
      "a factor that is none",
      study({ vary: { cpu: [1] } }),
      /valkey:study\.vary\.cpu: unknown key; did you mean cpus\?/,
    ],
    [
      "a cluster of two",
      study({ vary: { primaries: [1, 2] } }),
      "valkey:study.vary.primaries.1: expected 1 for a primary outside cluster mode, or at least 3 for a cluster",
    ],
    ["a level twice", study({ vary: { pipeline: [1, 1] } }), "valkey:study.vary.pipeline: a level is named twice"],
    [
      "an engine that is none",
      study({ vary: { engine: ["dragonfly"] } }),
      /vary\.engine\.0 is "dragonfly": .*expected valkey or redis/,
    ],
    [
      "nothing to compare",
      { ...study({}), deployments: { cluster: good.deployments.cluster } },
      /valkey:study: the study has only one treatment, so there is nothing to compare it with/,
    ],
    [
      "clients that a treatment's primaries cannot share",
      study({ vary: { primaries: [3, 5] } }),
      /valkey:benchmark\.clients, in replication, 5 primaries: 48 clients cannot be shared evenly by 5 primaries/,
    ],
    [
      "growth of a cluster",
      study({ vary: { pipeline: [1, 2] }, growth: { keys: 1_000_000 } }),
      /valkey:study\.growth: replication, pipeline 1 has more than one node/,
    ],
    [
      "a duration and a count",
      benchmark({ duration: 5, requests: 5 }),
      "valkey:benchmark.requests: expected a duration or a number of requests, not both",
    ],
  ])("with %s says where, what and what would do", (_what, raw, message) => {
    const found = problems(raw);
    expect(
      found.some((problem) => (typeof message === "string" ? problem === message : message.test(problem))),
      found.join("\n"),
    ).toBe(true);
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
    const expected = [
      /surplus: unknown key/,
      /other\.primaries is 2/,
      /io-threads: 9/,
      /maxmemory: together/,
      /50 clients/,
    ];
    for (const pattern of expected)
      expect(
        found.some((problem) => pattern.test(problem)),
        String(pattern),
      ).toBe(true);
  });

  it("does not miss a workload that is there and not understood", () => {
    const found = problems({
      ...good,
      workloads: { steady: { loadGenerator: "open-loop", rate: 1, duration: 1 } },
      capacity: { objective: "p99=2ms", workload: "steady" },
    });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain("valkey:workloads.steady.duration: unknown key");
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
    const config = parseConfig(
      "stack x",
      { ...good, benchmark: { ...good.benchmark, duration: 5 } },
      MACHINE,
      overrides({ clients: 96, requests: 1000 }),
    );
    expect(config.benchmark).toMatchObject({ clients: 96, requests: 1000 });
    expect(fittedWorkload(config).length).toEqual({ requests: 1000 });
  });

  it("are named themselves when they are wrong", () => {
    expect(problems(good, MACHINE, overrides({ clients: 50 }))[0]).toMatch(/^--clients: 50 clients cannot be shared/);
    expect(problems(good, MACHINE, overrides({ dataSize: "big" }))).toEqual([
      '--datasize is "big": expected a whole number from 1 to 536870912',
    ]);
  });

  it("make a mixed workload of their own, which takes the place of tests and workloads", () => {
    const mixed = (values: Raw): OptionOverrides =>
      benchmarkOverrides({ loadGenerator: "open-loop", duration: 2, ...values });
    const config = parseConfig(
      "stack x",
      good,
      MACHINE,
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
    expect(problems(good, MACHINE, mixed({ rate: 500, keyspaceLen: 16_384, reads: 3, clients: 50 }))).toEqual(
      expect.arrayContaining([expect.stringMatching(/^--reads is 3: /)]),
    );
    expect(problems(good, MACHINE, mixed({ keyspaceLen: 16_384 }))).toEqual([
      "--rate is missing: expected a whole number from 1 to 100000000",
    ]);
    expect(problems(good, MACHINE, mixed({ loadGenerator: "wrk" }))[0]).toMatch(
      /^--load-generator is "wrk": expected one of/,
    );
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

  it.each<[string, string, RegExp]>([
    ["no YAML", "config: [", /^f: /],
    ["no config", "a: 1", /expected a map `config:`/],
    [
      "keys without namespace",
      "config: {platform: 1}",
      /platform: expected a namespace before it, as in valkey:platform/,
    ],
    ["a misspelt namespace", "config: {'valky:platform': 1}", /valky:platform: did you mean valkey:platform\?/],
  ])("with %s is refused in a sentence", (_what, text, message) => {
    expect(() => parseStackFile("f", text)).toThrow(message);
    expect(() => parseStackFile("f", text)).toThrow(BadInput);
  });

  it("that is not there is said with those that are", () => {
    expect(() => readStackFile(STACKS_DIRECTORY, "locl")).toThrow(
      /there is no stack locl; did you mean local\? Stacks: .*local/,
    );
  });

  it("gives typed configurations", () => {
    const config: StackConfig = parseConfig("stack local", readStackFile(STACKS_DIRECTORY, "local"), MACHINE);
    expect(Object.keys(config.deployments)).toEqual(["replication", "cluster"]);
  });
});
