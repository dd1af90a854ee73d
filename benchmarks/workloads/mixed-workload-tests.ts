/** A mixed workload as the load generators take it: the keys it needs, and the commands that valkey-benchmark sends for it. Pure. */
import { Random } from "../../lib/statistics/random";
import { typicalSizes } from "../load/open-loop/requests/values";
import { zsetMember } from "./key-space";
import type { MixedWorkload, ValkeyBenchmarkWorkload } from "./mixed-workload";
import { DATA_COMMANDS, KEY_FAMILIES, meanValueBytes, MEMTIER_FAMILY } from "./mixed-workload";
import type { NamedTest, Prefill } from "./named-tests";
import type { PrefillSize } from "./key-slices";
import type { Workload } from "./workload";

/** Sizes that stand for a distribution where keys are put in place. */
const SIZES = 64;

/** The keys that must be there before. Every run has the same, whatever its seed. */
export function prefillForMixed(mix: MixedWorkload): { readonly what: Prefill; readonly size: PrefillSize } {
  const isOpen = mix.loadGenerator === "open-loop";
  const sizes = isOpen && mix.values.sizes !== "fixed" ? typicalSizes(mix.values, new Random(1), SIZES) : undefined;
  if (mix.loadGenerator === "memtier")
    return {
      what: { kind: "plain", family: MEMTIER_FAMILY, type: mix.data === "strings" ? "string" : "zset" },
      size: { keySpace: mix.keySpace, dataSize: mix.dataSize, stock: 0 },
    };
  return {
    what:
      mix.data === "strings"
        ? { kind: "strings", family: "key", ...(sizes === undefined ? {} : { sizes }) }
        : { kind: "zsets", family: "zset" },
    size: {
      keySpace: mix.keySpace,
      dataSize: isOpen ? Math.round(meanValueBytes(mix.values)) : mix.dataSize,
      stock: 0,
    },
  };
}

/** Most commands in a sequence. */
const MOST_PARTS = 100;

/** Reads and writes in the smallest whole numbers that make up the share, to a hundredth at least. */
export function wholeRatio(reads: number): { readonly reads: number; readonly writes: number } {
  for (let parts = 1; parts < MOST_PARTS; parts++) {
    const whole = Math.round(reads * parts);
    if (Math.abs(whole / parts - reads) < 1e-9) return { reads: whole, writes: parts - whole };
  }
  const whole = Math.round(reads * MOST_PARTS);
  return { reads: whole, writes: MOST_PARTS - whole };
}

/** As a test of valkey-benchmark: one sequence of commands, reads first, sent again and again. */
export function testForMixed(mix: ValkeyBenchmarkWorkload, isCluster: boolean): NamedTest {
  const key = `${KEY_FAMILIES[mix.data]}${isCluster ? ":{tag}" : ""}:__rand_int__`;
  const read = mix.data === "strings" ? ["GET", key] : ["ZRANGE", key, "0", "-1"];
  const write = mix.data === "strings" ? ["SET", key, "__data__"] : ["ZADD", key, "__rand_int__", zsetMember(0)];
  const ratio = wholeRatio(mix.reads);
  const parts = [
    ...(ratio.reads > 0 ? [[String(ratio.reads), ...read]] : []),
    ...(ratio.writes > 0 ? [[String(ratio.writes), ...write]] : []),
  ];
  const { read: readCommand, write: writeCommand } = DATA_COMMANDS[mix.data];
  return {
    title: mix.name,
    command: ratio.reads > 0 ? readCommand : writeCommand,
    commands: [readCommand, writeCommand],
    send: { sequence: parts.flatMap((words, index) => (index === 0 ? words : [";", ...words])) },
    prefill: prefillForMixed(mix).what,
    reads: mix.reads > 0,
    leaves: "same",
  };
}

/** The rest of what valkey-benchmark is told. */
export function workloadForMixed({
  name,
  clients,
  pipeline,
  dataSize,
  threads,
  keySpace,
  length,
  warmup,
  rate,
}: ValkeyBenchmarkWorkload): Workload {
  return { name, tests: [], clients, pipeline, dataSize, threads, keySpace, length, warmup, rate };
}
