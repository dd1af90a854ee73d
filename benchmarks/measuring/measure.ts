/** One measurement: the load generator runs one test, and the servers' counters are sampled beside it. */
import type { Connection } from "../../valkey/connection";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import type { MixedWorkload } from "../workloads/mixed-workload";
import { DATA_COMMANDS } from "../workloads/mixed-workload";
import { commandsOfTest } from "../workloads/named-tests";
import type { CounterSample } from "./counters";
import { CounterSampler } from "./counters";
import type { LoadRequest, LoadRunner, LoadOutcome, LoadObserver } from "../load/load-runner";

/** A node whose counters are read during the measurement. */
export interface MeasuredNode {
  readonly name: string;
  readonly role: "primary" | "replica";
  readonly connection: Connection;
}

export interface MeasuredLoad extends LoadOutcome {
  /** Samples of every watched node, or why there are none. */
  readonly counters: ReadonlyMap<MeasuredNode, readonly CounterSample[] | string>;
}

const PRIMARY_INTERVAL_MS = 200;
const REPLICA_INTERVAL_MS = 500;

/** Whose calls are a load's, as INFO commandstats names them. */
export interface CountedCommands {
  readonly primary: readonly string[];
  /** What replicas are asked by clients: what a primary passes on to them is not. */
  readonly replica: readonly string[];
}

/** Those of a run of valkey-benchmark, which sends to primaries unless it is told otherwise, and then only reads. */
export function countedCommands({ test, readFrom = "primary" }: ValkeyBenchmarkRun): CountedCommands {
  const commands = commandsOfTest(test);
  return { primary: commands, replica: readFrom === "primary" ? [] : commands };
}

/** Those of a mixed workload. */
export function countedCommandsOfMixed(mix: MixedWorkload): CountedCommands {
  const { read, write } = DATA_COMMANDS[mix.data];
  return {
    primary: [read, write],
    replica: mix.loadGenerator === "open-loop" && mix.readFrom !== "primary" ? [read] : [],
  };
}

/**
 * Runs the tool once.
 * @throws what the runner throws
 */
export async function measure<R>(
  request: LoadRequest<R>,
  commands: CountedCommands,
  nodes: readonly MeasuredNode[],
  runner: LoadRunner<R>,
  signal: AbortSignal,
): Promise<MeasuredLoad> {
  signal.throwIfAborted();
  const samplers = nodes.map(
    (node) =>
      [
        node,
        new CounterSampler(
          node,
          commands[node.role],
          node.role === "primary" ? PRIMARY_INTERVAL_MS : REPLICA_INTERVAL_MS,
        ),
      ] as const,
  );
  const counters = new Map<MeasuredNode, CounterSample[] | string>();
  const watch: LoadObserver = {
    begin: async () => {
      await Promise.all(samplers.map(([, sampler]) => sampler.start()));
    },
    end: async () => {
      await Promise.all(samplers.map(async ([node, sampler]) => counters.set(node, await sampler.finish())));
    },
  };
  try {
    const outcome = await runner.run(request, watch, signal);
    signal.throwIfAborted();
    return { ...outcome, counters };
  } finally {
    for (const [, sampler] of samplers) sampler.stop();
  }
}
