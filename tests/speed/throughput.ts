/** What our runner costs the figure it reports: the same valkey-benchmark by it and by hand, in turn, on the same servers. */
import { geometricMean } from "simple-statistics";
import { Failure } from "../../lib/errors";
import { form } from "../../valkey/formation/form";
import { Session } from "../../benchmarks/measuring/session";
import { median, medianInterval } from "../../lib/statistics/median";
import { valkeyBenchmarkArguments } from "../../benchmarks/load/valkey-benchmark/arguments";
import { parseSingleReport } from "../../benchmarks/load/valkey-benchmark/output";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import type { TestName } from "../../benchmarks/workloads/named-tests";
import { namedTest } from "../../benchmarks/workloads/named-tests";
import type { Benchmark } from "./benchmark";
import type { ClockReading } from "./clock";
import { CLOCK, clockRow, readingOf } from "./clock";
import type { LoadSettings } from "./load";
import { DirectLoad } from "./load";
import type { BenchRow } from "./row";
import { atLeast, comparedRow } from "./row";
import type { BenchServers } from "./workbench";
import { alternatingSides, runDirectly, hostPlan } from "./workbench";

/** As the stack `local` has them. */
const PLANS = [
  hostPlan("replication", "replication", { primaries: 1, replicasPerPrimary: 3 }),
  hostPlan("cluster", "cluster", { primaries: 3, replicasPerPrimary: 1 }),
];
const TESTS: readonly TestName[] = ["set", "get"];
const SENDING: LoadSettings = {
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
/** Of our rate over that by hand. */
const TARGET = atLeast(0.99);

export const throughput: Benchmark = {
  title: "Throughput, beside valkey-benchmark by hand",
  ids: [ROW, CLOCK],
  run: ({ workbench, wanted, report, emit }) =>
    workbench.withServers(PLANS, async (servers) => {
      const all: PairedRates[] = [];
      for (const deployment of servers.deployments) {
        const shape = PLANS.find(({ name }) => name === deployment.name)?.shape;
        if (shape === undefined) throw new Error(`nobody planned ${deployment.name}`);
        await form(deployment, shape, { signal: servers.signal });
        const { verdict } = await verify(deployment);
        if (!verdict.pass) throw new Failure(verdictLine(verdict));
        const session = await Session.open({ deployment, shards: verdict.shards });
        try {
          for (const test of TESTS) {
            const load = await DirectLoad.ready(servers, session, SENDING, test);
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

/** Rates of one load, the sides in turn. */
export interface PairedRates {
  /** `SET on cluster` */
  readonly what: string;
  readonly ours: number[];
  readonly reference: number[];
  /** What our records say of the clocks. */
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
      // The very flags of the runner, and nobody watching.
      const { output } = await runDirectly(host.programs.benchmark, valkeyBenchmarkArguments(load.tool()), {
        run: host.run,
        signal,
        patienceSeconds: 30,
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
 * One row for all loads. The runner does the same beside each, and what it costs is less than one load's rate varies;
 * the geometric mean of the four ratios is known twice as well as any of them.
 */
export function throughputRow(all: readonly PairedRates[]): BenchRow {
  const mean = (side: "ours" | "reference"): number => geometricMean(all.map((pairs) => median(pairs[side])));
  const what = `rate through our runner over that by hand, medians of ${PAIRS} runs of each in turn, and by pairs with 95 %: ${all.map(describe).join(", ")}; the geometric means of these`;
  return comparedRow(
    { id: ROW, what, unit: "rps" },
    { ours: mean("ours"), reference: mean("reference") },
    "ours/reference",
    TARGET,
  );
}
