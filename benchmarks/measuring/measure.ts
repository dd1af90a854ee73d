/** One measurement. A load generator runs once, and the servers' counters are sampled during the run. */
import type { Connection } from "../../valkey/connection";
import type { LoadObserver, LoadOutcome, LoadRequest, LoadDriver } from "../load/load-driver";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import type { MixedWorkload } from "../workloads/mixed-workload";
import { DATA_COMMANDS } from "../workloads/mixed-workload";
import { commandsOfTest } from "../workloads/named-tests";
import type { CounterSample } from "./counters";
import { CounterSampler } from "./counters";

/** A node whose counters are read during the measurement. */
export interface MeasuredNode {
  readonly name: string;
  readonly role: "primary" | "replica";
  readonly connection: Connection;
}

/** The report of a load generator, and the servers' counters during its run. */
export interface MeasuredLoad extends LoadOutcome {
  /** Samples of each measured node, or the reason why the node has no samples. */
  readonly counters: ReadonlyMap<MeasuredNode, readonly CounterSample[] | string>;
}

/** Milliseconds between two samples of a node. */
const SAMPLE_INTERVAL_MS = { primary: 200, replica: 500 } as const;

/** Commands that count as calls of a load, by the role of the node. The names are the names in INFO commandstats. */
export interface CountedCommands {
  readonly primary: readonly string[];
  /** Commands that clients send to replicas. Commands that a replica receives from its primary do not count. */
  readonly replica: readonly string[];
}

/**
 * Commands that a run of valkey-benchmark sends. The run reads from replicas only if `readFrom` requires this. A run
 * that reads from replicas writes nothing.
 */
export function countedCommands({ test, readFrom = "primary" }: ValkeyBenchmarkRun): CountedCommands {
  const commands = commandsOfTest(test);
  return { primary: commands, replica: readFrom === "primary" ? [] : commands };
}

/** Commands that a mixed workload sends. */
export function countedCommandsOfMixed(mixed: MixedWorkload): CountedCommands {
  const { read, write } = DATA_COMMANDS[mixed.data];
  const readsFromReplicas = mixed.loadGenerator === "open-loop" && mixed.readFrom !== "primary";
  return { primary: [read, write], replica: readsFromReplicas ? [read] : [] };
}

/**
 * Runs a load generator once, and samples the servers' counters during the run.
 * @throws the errors of the load generator's driver
 */
export async function measure<R>(
  request: LoadRequest<R>,
  commands: CountedCommands,
  nodes: readonly MeasuredNode[],
  runner: LoadDriver<R>,
  signal: AbortSignal,
): Promise<MeasuredLoad> {
  signal.throwIfAborted();
  const samplers = nodes.map((node) => {
    const { role } = node;
    return { node, sampler: new CounterSampler(node, commands[role], SAMPLE_INTERVAL_MS[role]) };
  });
  const counters = new Map<MeasuredNode, CounterSample[] | string>();
  const observer: LoadObserver = {
    begin: async () => {
      await Promise.all(samplers.map(({ sampler }) => sampler.start()));
    },
    end: async () => {
      await Promise.all(samplers.map(async ({ node, sampler }) => counters.set(node, await sampler.finish())));
    },
  };
  try {
    const outcome = await runner.run(request, observer, signal);
    signal.throwIfAborted();
    return { ...outcome, counters };
  } finally {
    for (const { sampler } of samplers) sampler.stop();
  }
}
