import type { Connection } from "../../valkey/connection";
import type { LoadObserver, LoadOutcome, LoadRequest, LoadDriver } from "../load/load-driver";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import { type MixedWorkload, DATA_COMMANDS } from "../workloads/mixed-workload";
import { commandsOfTest } from "../workloads/named-tests";
import { type CounterSample, CounterSampler } from "./counters";

export interface MeasuredNode {
  readonly name: string;
  readonly role: "primary" | "replica";
  /** Name of the primary of its shard. */
  readonly shard: string | undefined;
  /** Share of all slots that the node serves as a primary, 0 to 1. A primary in replication mode has the share 1. */
  readonly slotShare: number;
  readonly connection: Connection;
}

export interface MeasuredLoad extends LoadOutcome {
  readonly counters: ReadonlyMap<MeasuredNode, readonly CounterSample[] | string>;
}

const SAMPLE_INTERVAL_MS = { primary: 200, replica: 500 } as const;

export interface CountedCommands {
  readonly primary: readonly string[];
  /** Commands that a replica receives from its primary do not count. */
  readonly replica: readonly string[];
}

/** It reads from replicas only if `readFrom` requires this, and then writes nothing. */
export function countedCommands({ test, readFrom = "primary" }: ValkeyBenchmarkRun): CountedCommands {
  const commands = commandsOfTest(test);
  return { primary: commands, replica: readFrom === "primary" ? [] : commands };
}

export function countedCommandsOfMixed(mixed: MixedWorkload): CountedCommands {
  const { read, write } = DATA_COMMANDS[mixed.data];
  const readsFromReplicas = mixed.loadGenerator === "open-loop" && mixed.readFrom !== "primary";
  return { primary: [read, write], replica: readsFromReplicas ? [read] : [] };
}

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
