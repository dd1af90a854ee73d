/** A workload whose limit any machine reaches. */

/** One connection with one large write at a time: even a busy machine reaches its limit. */
export const BATCHES = {
  loadGenerator: "open-loop",
  name: "batches",
  data: "strings",
  reads: 0,
  keySpace: 100,
  clients: 1,
  pipeline: 1,
  length: { seconds: 0.7 },
  warmup: 0,
  rate: 1,
  arrivals: "fixed",
  keys: { distribution: "uniform" },
  values: { sizes: "fixed", bytes: 20_000 },
  readFrom: "primary",
  workers: 1,
  timeoutMs: 2_000,
  queue: 100_000,
} as const;
