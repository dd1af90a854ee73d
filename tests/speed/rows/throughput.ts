/**
 * Cost of a measurement for the rate that it reports: valkey-benchmark measured and run directly, in turn, on the same
 * servers.
 */
import { geometricMean } from "simple-statistics";
import { Failure } from "../../../lib/errors";
import { form } from "../../../valkey/formation/form";
import { Session } from "../../../benchmarks/measuring/session";
import { median, medianInterval } from "../../../lib/statistics/median";
import { valkeyBenchmarkArguments } from "../../../benchmarks/load/valkey-benchmark/arguments";
import { parseSingleReport } from "../../../benchmarks/load/valkey-benchmark/output";
import { verdictLine } from "../../../valkey/verification/format";
import { verify } from "../../../valkey/verification/verify";
import type { TestName } from "../../../benchmarks/workloads/named-tests";
import { namedTest } from "../../../benchmarks/workloads/named-tests";
import type { Benchmark } from "../benchmark";
import type { ClockReading } from "./clock";
import { CLOCK, clockRow, readingOf } from "./clock";
import type { LoadSettings } from "../load";
import { DirectLoad } from "../load";
import type { BenchRow } from "../row";
import { atLeast, comparedRow } from "../row";
import type { BenchServers } from "../workbench";
import { alternatingSides, runDirectly, hostPlan } from "../workbench";

/** The deployments of the stack `local`. */
const PLANS = [
  hostPlan("replication", "replication", { primaries: 1, replicasPerPrimary: 3 }),
  hostPlan("cluster", "cluster", { primaries: 3, replicasPerPrimary: 1 }),
];
const TESTS: readonly TestName[] = ["set", "get"];
const LOAD_SETTINGS: LoadSettings = {
  name: undefined,
  clients: 48,
  pipeline: 16,
  dataSize: 256,
  threads: 1,
  keySpace: 98_304,
  length: { seconds: 3 },
  warmup: 1,
  rate: undefined,
};
const PAIRS = 9;
const ROW = "throughput";
/** Ratio of the measured rate to that of a direct run. */
const TARGET = atLeast(0.99);

export const throughput: Benchmark = {
  title: "Throughput, beside valkey-benchmark run directly",
  ids: [ROW, CLOCK],
  run: ({ workbench, wanted, report, emit }) =>
    workbench.withServers(PLANS, async (servers) => {
      const all: PairedRates[] = [];
      for (const deployment of servers.deployments) {
        const shape = PLANS.find(({ name }) => name === deployment.name)?.shape;
        if (shape === undefined) throw new Error(`there is no plan of ${deployment.name}`);
        await form(deployment, shape, { signal: servers.signal });
        const { verdict } = await verify(deployment);
        if (!verdict.pass) throw new Failure(verdictLine(verdict));
        const session = await Session.open({ deployment, shards: verdict.shards });
        try {
          for (const test of TESTS) {
            const load = await DirectLoad.ready(servers, session, LOAD_SETTINGS, test);
            const pairs = await measurePairs(
              `${namedTest(test).title} on ${deployment.name}`,
              load,
              servers,
              wanted.has(ROW),
            );
            report(wanted.has(ROW) ? describe(pairs) : `${pairs.what}: ${pairs.ours.length} times`);
            all.push(pairs);
          }
        } finally {
          await session.close();
        }
      }
      if (wanted.has(ROW)) emit(throughputRow(all));
      if (wanted.has(CLOCK)) emit(clockRow(all.flatMap(({ readings }) => readings)));
    }),
};

/** Rates of one load, measured in turn. */
export interface PairedRates {
  /** `SET on cluster` */
  readonly what: string;
  readonly ours: number[];
  readonly reference: number[];
  /** How far the measured rates are from the servers' own. */
  readonly readings: ClockReading[];
}

async function measurePairs(
  what: string,
  load: DirectLoad,
  { host, signal }: BenchServers,
  isCompared: boolean,
): Promise<PairedRates> {
  const pairs: PairedRates = { what, ours: [], reference: [], readings: [] };
  for (const side of alternatingSides(PAIRS)) {
    if (side === "ours") {
      const { measured, record } = await load.byRunner();
      pairs.ours.push(record.client.rps);
      pairs.readings.push(readingOf(record, measured));
    } else if (isCompared) {
      // The same flags, without sampling beside it.
      const { output } = await runDirectly(host.programs.benchmark, valkeyBenchmarkArguments(load.nextRun()), {
        run: host.run,
        signal,
        timeoutSeconds: 30,
      });
      pairs.reference.push(parseSingleReport(output).rate);
    }
  }
  return pairs;
}

/** `SET on cluster 0.998 (0.99 to 1.01)` */
function describe({ what, ours, reference }: PairedRates): string {
  const { low, high } = medianInterval(ours.map((rate, pair) => rate / (reference[pair] ?? NaN)));
  return `${what} ${(median(ours) / median(reference)).toFixed(3)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/**
 * One row for all loads. A measurement does the same beside each, and costs less than the rate of one load varies; the
 * geometric mean of the four ratios is twice as exact as any of them.
 */
export function throughputRow(all: readonly PairedRates[]): BenchRow {
  const mean = (side: "ours" | "reference"): number => geometricMean(all.map((pairs) => median(pairs[side])));
  const ratios = all.map(describe).join(", ");
  const how = `medians of ${PAIRS} each in turn (95 % of pairs)`;
  const what = `geometric mean of measured rate over rate of a direct run, ${how}: ${ratios}`;
  return comparedRow(
    { id: ROW, what, unit: "rps" },
    { ours: mean("ours"), reference: mean("reference") },
    "ours/reference",
    TARGET,
  );
}
