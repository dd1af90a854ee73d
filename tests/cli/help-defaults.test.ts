/** The defaults that the help names are those of the code. */
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { DEFAULT_SEARCH } from "../../benchmarks/capacity/capacity-schema";
import { DEFAULT_PRECISION } from "../../benchmarks/compare/compare";
import { workloadSchema } from "../../benchmarks/workloads/mixed-workload-schema";
import { recommendSchema } from "../../cli/commands/recommend";
import { DEFAULT_REPLICAS, DEFAULT_TTL } from "../../cli/commands/restore";
import { watchSchema } from "../../cli/commands/watch";
import { soakOptions } from "../../cli/commands/soak";
import { buildProgram } from "../../cli/program";
import { DEFAULT_BASE_EVERY_MS } from "../../backup/archive/archive-shard";
import { parseSize } from "../../lib/units";
import { judgeFacts } from "../../valkey/verification/verify";
import { clusterFacts } from "../support/valkey/facts";
import { never } from "../support/valkey/real";

/** Defaults that are words: another source has the value, or the option is left out. */
const IN_WORDS =
  /^(all|any; in a cluster at least 1, and the same for each primary|3 or more|both|none|random|the (stack's|default user|system's|servers of the options)|a (list|table) of .*|results\/TIME.*)$/;

const openLoop = workloadSchema.parse({ loadGenerator: "open-loop", rate: 1 });
if (openLoop.loadGenerator !== "open-loop") throw new Error("the workload is one of the open loop");
const { loadGenerator } = workloadSchema.parse({});
const workload = {
  "load-generator": loadGenerator,
  reads: openLoop.reads,
  data: openLoop.data,
  arrivals: openLoop.arrivals,
  keys: openLoop.keys.distribution,
  "read-from": openLoop.readFrom,
  "timeout-ms": openLoop.timeoutMs,
};
const recommended = recommendSchema.parse({ rate: 1, workingSet: "1gb" });
const soak = soakOptions({});

/** Default values by command and option. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  run: workload,
  measure: workload,
  capacity: {
    ...Object.fromEntries(Object.entries(workload).filter(([option]) => option !== "load-generator")),
    "initial-rate": DEFAULT_SEARCH.initialRate,
    "max-rate": DEFAULT_SEARCH.maxRate,
    precision: DEFAULT_SEARCH.precision,
    confirmations: DEFAULT_SEARCH.confirmations,
  },
  compare: { precision: DEFAULT_PRECISION },
  archive: { "base-every": `${DEFAULT_BASE_EVERY_MS / 86_400_000}d` },
  restore: { replicas: DEFAULT_REPLICAS, ttl: DEFAULT_TTL },
  watch: { every: watchSchema.parse({}).every },
  recommend: {
    reads: recommended.reads,
    "value-size": recommended.valueSize,
    pipeline: recommended.pipeline,
    replicas: recommended.replicas,
    region: recommended.region,
  },
  soak: {
    duration: `${soak.seconds / 3600}h`,
    window: `${soak.windowSeconds}s, or longer so that there are at most 1000 windows`,
    rate: soak.load.rate,
    reads: soak.load.reads,
    "keyspace-len": soak.load.keySpace,
    datasize: soak.load.bytes,
    "max-disk": "10gb",
  },
};

function statedDefaults(command: Command): (readonly [option: string, value: string])[] {
  return command.options.flatMap(({ long, description }) => {
    const value = /\(default: (.*)\)$/.exec(description)?.[1];
    return value === undefined || IN_WORDS.test(value) ? [] : [[long?.replace(/^--/, "") ?? "", value] as const];
  });
}

describe("the help", () => {
  it.each(buildProgram(never, () => undefined).commands.map((command) => [command.name(), command] as const))(
    "of %s names the defaults of the code",
    (name, command) => {
      const expected = Object.entries(DEFAULTS[name] ?? {}).map(([option, value]) => [option, String(value)]);
      expect(Object.fromEntries(statedDefaults(command))).toEqual(Object.fromEntries(expected));
    },
  );

  it("names the numbers of nodes that verification expects by default", () => {
    const expected = (replicas: number, id: string): string | undefined =>
      judgeFacts({ ...clusterFacts(3, replicas), shape: {} }).assertions.find((each) => each.id === id)?.expected;
    expect(expected(1, "primaries")).toBe("3 or more");
    expect(expected(0, "replicas")).toBe("the same number for each primary, at least 1 (here 1)");
    const help = buildProgram(never, () => undefined)
      .commands.find((command) => command.name() === "verify")
      ?.options.map(({ description }) => description);
    expect(help).toContain("expected number of primaries of a cluster (default: 3 or more)");
  });

  it("names the disk space of a soak", () => {
    expect(parseSize("10gb")).toBe(soak.diskBytes);
  });
});
