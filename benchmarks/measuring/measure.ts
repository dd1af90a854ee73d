/** One measurement: the load generator runs one test, and the servers' counters are sampled beside it. */
import type { Connection } from "../connection";
import type { CounterSample } from "./counters";
import { CounterSampler } from "./counters";
import type { ToolOutcome, ToolRequest, ToolRunner, Watch } from "./tool-runner";

/** A node whose counters are read during the measurement. */
export interface WatchedNode {
  readonly name: string;
  readonly role: "primary" | "replica";
  readonly connection: Connection;
}

export interface Measured extends ToolOutcome {
  /** Samples of every watched node, or why there are none. */
  readonly counters: ReadonlyMap<WatchedNode, readonly CounterSample[] | string>;
}

const PRIMARY_INTERVAL_MS = 200;
const REPLICA_INTERVAL_MS = 500;

/**
 * Runs the tool once.
 * @throws what the runner throws
 */
export async function measure(request: ToolRequest, nodes: readonly WatchedNode[], runner: ToolRunner, signal: AbortSignal): Promise<Measured> {
  signal.throwIfAborted();
  const { command } = request.tool.test;
  const samplers = nodes.map((node) => [node, new CounterSampler(node, command, node.role === "primary" ? PRIMARY_INTERVAL_MS : REPLICA_INTERVAL_MS)] as const);
  const counters = new Map<WatchedNode, CounterSample[] | string>();
  const watch: Watch = {
    begin: async () => { await Promise.all(samplers.map(([, sampler]) => sampler.start())); },
    end: async () => { await Promise.all(samplers.map(async ([node, sampler]) => counters.set(node, await sampler.finish()))); },
  };
  try {
    const outcome = await runner.run(request, watch, signal);
    signal.throwIfAborted();
    return { ...outcome, counters };
  } finally {
    for (const [, sampler] of samplers) sampler.stop();
  }
}
