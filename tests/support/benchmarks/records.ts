/** Records and results for tests. */
import type {
  CapacityLoad,
  CapacityRecord,
  MeasurementRecord,
  OpenLoopCounts,
  Results,
} from "../../../benchmarks/results/schema";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";

export function measurementRecord(changes: Partial<MeasurementRecord> = {}): MeasurementRecord {
  return {
    id: "1-cluster-get",
    round: 1,
    deployment: "cluster",
    mode: "cluster",
    workload: "cluster",
    test: "get",
    title: "GET",
    startedAt: "2026-11-21T09:00:00.000Z",
    command: ["-t", "get"],
    seed: 1,
    clients: 48,
    pipeline: 16,
    dataSize: 256,
    threads: 1,
    keySpace: 98_304,
    rate: null,
    timeoutMs: null,
    warmupSeconds: 1,
    client: {
      requests: 200_000,
      rps: 100_000,
      seconds: 2,
      avgMs: 1,
      minMs: 0.1,
      p50Ms: 0.9,
      p95Ms: 2,
      p99Ms: 3,
      maxMs: 9,
      percentiles: [{ ms: 9, count: 200_000 }],
      cumulative: [
        { ms: 1, count: 120_000 },
        { ms: 9, count: 200_000 },
      ],
    },
    servers: {
      rps: 100_200,
      calls: 200_400,
      disagreement: -0.002,
      hits: 200_400,
      misses: 0,
      hitRatio: 1,
      evictions: 0,
      rejectedCalls: 0,
      shares: ["cluster-0", "cluster-1", "cluster-2"].map((node) => ({
        node,
        calls: 66_800,
        share: 1 / 3,
        expectedShare: 1 / 3,
      })),
    },
    cpu: {
      client: 0.5,
      clientLimit: 1,
      servers: [{ node: "cluster-0", role: "primary", cores: 0.95, mainThread: 0.93 }],
      program: 0.02,
      serversHere: true,
      machineBusy: 1.5,
      machineStolen: 0,
      machineCores: 2,
    },
    loadGenerator: "valkey-benchmark",
    requestMix: null,
    histogram: null,
    offering: null,
    runners: [],
    warnings: [],
    ...changes,
  };
}

export function recordAt(
  deployment: "replication" | "cluster",
  round: number,
  rps: number,
  p50Ms = 1,
): MeasurementRecord {
  const base = measurementRecord();
  return {
    ...base,
    id: `${round}-${deployment}-get`,
    deployment,
    mode: deployment,
    workload: deployment,
    round,
    client: { ...base.client, rps, p50Ms },
  };
}

export const verifiedTopology = (deployment: "replication" | "cluster", primaries: number): TopologyRecord => ({
  deployment,
  mode: deployment,
  version: "valkey 9.1.2",
  nodes: Array.from({ length: primaries * 2 }, (_, i) => ({
    name: `${deployment}-${i}`,
    zone: `zone-${"abc"[i % 3] ?? ""}`,
    machine: "here",
    role: i < primaries ? "primary" : "replica",
  })),
  shards: Array.from({ length: primaries }, (_, i) => ({
    primary: `${deployment}-${i}`,
    replicas: [`${deployment}-${i + primaries}`],
    slots: `${i}`,
  })),
  settings: { maxmemory: "0" },
  formationMs: 1234,
  verdict: {
    pass: true,
    assertions: [
      { id: "reachable", what: "every node can be reached", expected: "2", found: "2", pass: true, nodes: [] },
    ],
    skippedAssertions: [],
  },
});

export function results(records: readonly MeasurementRecord[], changes: Partial<Results> = {}): Results {
  const topology = (...of: Parameters<typeof verifiedTopology>): Results["topologies"][number] => {
    const { nodes, ...verified } = verifiedTopology(...of);
    return { ...verified, nodes: nodes.map((node, index) => ({ ...node, keysAfter: 1000 + index })) };
  };
  return {
    schema: 1,
    timestamp: "20261121-090000",
    stack: "local",
    complete: true,
    reason: null,
    configuration: { a: 1 },
    environment: {
      platform: "linux x64",
      kernel: "6.1",
      hostname: "here",
      cpuModel: "CPU <b>",
      cores: 2,
      coresAvailable: 2,
      memoryBytes: 8e9,
      memoryFreeBytes: 4e9,
      loadAverage: [0, 0, 0],
      governor: null,
      transparentHugePages: "madvise",
      overcommitMemory: "0",
      somaxconn: "4096",
      node: "v20.20.2",
      programs: { version: "9.1.2", source: "Debian packages" },
      machines: [],
    },
    topologies: [topology("cluster", 3), topology("replication", 1)],
    referenceLoads: [{ round: 1, rps: 1_000_000, startedAt: "2026-11-21T09:00:00.000Z" }],
    records: [...records],
    capacities: [],
    scenarios: [],
    ...changes,
  };
}

/** The load that a capacity is the capacity of: 90 % reads of values of 64 bytes. */
export const CAPACITY_LOAD: CapacityLoad = {
  requestMix: { data: "strings", reads: 0.9, readFrom: "primary", keys: "uniform", values: "fixed bytes=64" },
  ...{ arrivals: "fixed", dataSize: 64, keySpace: 10_000, clients: 50, pipeline: 1, workers: 1, runners: 1 },
};

export const capacityRecord = (changes: Partial<CapacityRecord> = {}): CapacityRecord => ({
  ...{ deployment: "cluster", mode: "cluster", workload: "steady", round: null, load: null },
  ...{ objective: { quantile: 0.99, ms: 2 }, capacity: 5000, isOpenEnded: false, points: [], knee: null },
  ...{ bottleneck: null, warnings: [] },
  ...changes,
});

/** Result of two probes of a rate. @param held number of these probes that met the objective */
export const capacityPoint = (rate: number, held: number): CapacityRecord["points"][number] => ({
  ...{ rate, probes: 2, held, achieved: rate, ms: 1, p50Ms: 1, p99Ms: 1, lagP99Ms: 0, histogram: "" },
});

export const studyRecord = (verdict: "greater" | "less"): NonNullable<Results["study"]> => ({
  ...{ name: "x", kind: "comparison", seed: 1, precision: 0.05, budgetSeconds: 1, elapsedSeconds: 1, rounds: 6 },
  ...{ ended: "precise", treatments: [], order: [], referenceLoadMoved: false },
  comparisons: [
    {
      ...{ test: "set", title: "SET", metric: "throughput", base: "a", other: "b", ratio: 1.5, low: 1.4, high: 1.6 },
      ...{ rounds: 6, verdict, interleaved: true },
    },
  ],
  ...{ interleaved: [], fits: [], growth: [], findings: [], claims: [] },
});

export function openLoopCounts(offered: number, changes: Partial<OpenLoopCounts> = {}): OpenLoopCounts {
  return {
    ...{ offered, sent: offered, acknowledged: offered, failed: {}, unknown: {}, redirects: {}, reconnects: 0 },
    ...{ mostInFlight: 1, lagP50Ms: 0, lagP99Ms: 0, lagMaxMs: 0, lag: "", busy: 0.1 },
    ...changes,
  };
}
