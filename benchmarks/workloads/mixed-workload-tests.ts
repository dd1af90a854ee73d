import { compact } from "../../lib/compact";
import { Random } from "../../lib/statistics/random";
import { typicalSizes } from "./value-sizes";
import { type NeededKeys, zsetMember } from "./key-slices";
import type { DataKind, MixedWorkload, ValkeyBenchmarkWorkload } from "./mixed-workload";
import { DATA_COMMANDS, KEY_FAMILIES, meanValueBytes, MEMTIER_FAMILY } from "./mixed-workload";
import type { NamedTest, Prefill } from "./named-tests";
import type { Workload } from "./workload";

/** The keys are written with these sizes. */
const SAMPLED_SIZES = 64;
/** The seed is constant, so that every run writes the same keys. */
const SIZES_SEED = 1;

/** These keys do not depend on the seed of the run. */
export function prefillForMixed(mixed: MixedWorkload): NeededKeys {
  const { keySpace, data } = mixed;
  if (mixed.loadGenerator === "memtier") {
    const what = { kind: "plain", family: MEMTIER_FAMILY, type: data === "strings" ? "string" : "zset" } as const;
    return { what, size: { keySpace, dataSize: mixed.dataSize, stock: 0 } };
  }
  const isOpen = mixed.loadGenerator === "open-loop";
  const dataSize = isOpen ? Math.round(meanValueBytes(mixed.values)) : mixed.dataSize;
  const sizes = isOpen ? sampledSizes(mixed) : undefined;
  return { what: prefillOf(data, sizes), size: { keySpace, dataSize, stock: 0 } };
}

function prefillOf(data: DataKind, sizes: readonly number[] | undefined): Prefill {
  if (data === "sorted-sets") return { kind: "zsets", family: "zset" };
  return { kind: "strings", family: "key", ...(sizes === undefined ? {} : { sizes }) };
}

function sampledSizes({
  values,
}: Extract<MixedWorkload, { loadGenerator: "open-loop" }>): readonly number[] | undefined {
  return values.sizes === "fixed" ? undefined : typicalSizes(values, new Random(SIZES_SEED), SAMPLED_SIZES);
}

const MAX_COMMANDS = 100;

/** The share can differ by up to 1 %. */
export function wholeRatio(reads: number): { readonly reads: number; readonly writes: number } {
  for (let commands = 1; commands < MAX_COMMANDS; commands++) {
    const whole = Math.round(reads * commands);
    if (Math.abs(whole / commands - reads) < 1e-9) return { reads: whole, writes: commands - whole };
  }
  const whole = Math.round(reads * MAX_COMMANDS);
  return { reads: whole, writes: MAX_COMMANDS - whole };
}

export function testForMixed(mixed: ValkeyBenchmarkWorkload, isCluster: boolean): NamedTest {
  const key = `${KEY_FAMILIES[mixed.data]}${isCluster ? ":{tag}" : ""}:__rand_int__`;
  const words = commandWords(mixed.data, key);
  const ratio = wholeRatio(mixed.reads);
  const parts = compact([
    ratio.reads > 0 ? [String(ratio.reads), ...words.read] : undefined,
    ratio.writes > 0 ? [String(ratio.writes), ...words.write] : undefined,
  ]);
  const { read, write } = DATA_COMMANDS[mixed.data];
  return {
    title: mixed.name,
    command: ratio.reads > 0 ? read : write,
    commands: [read, write],
    send: { sequence: parts.flatMap((part, index) => (index === 0 ? part : [";", ...part])) },
    prefill: prefillForMixed(mixed).what,
    reads: mixed.reads > 0,
    leaves: "same",
  };
}

function commandWords(
  data: DataKind,
  key: string,
): { readonly read: readonly string[]; readonly write: readonly string[] } {
  if (data === "strings") return { read: ["GET", key], write: ["SET", key, "__data__"] };
  return { read: ["ZRANGE", key, "0", "-1"], write: ["ZADD", key, "__rand_int__", zsetMember(0)] };
}

export function workloadForMixed(mixed: ValkeyBenchmarkWorkload): Workload {
  const { name, clients, pipeline, dataSize, threads, keySpace, length, warmup, rate } = mixed;
  return { name, tests: [], clients, pipeline, dataSize, threads, keySpace, length, warmup, rate };
}
