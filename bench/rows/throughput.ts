/**
 * Cost of a measurement for the rate that it reports: valkey-benchmark measured and run directly, in turn, on the same
 * servers. The reported rate is compared with the servers' own counters and clocks, too.
 */
import { geometricMean } from "simple-statistics";
import { type ValkeyBenchmarkRun, valkeyBenchmarkArguments } from "../../benchmarks/load/valkey-benchmark/arguments";
import { parseSingleReport } from "../../benchmarks/load/valkey-benchmark/local-driver";
import type { CounterSample } from "../../benchmarks/measuring/counters";
import { type MeasuredLoad, countedCommands, measure } from "../../benchmarks/measuring/measure";
import { namedTestRecord } from "../../benchmarks/measuring/measurement-records";
import { Session } from "../../benchmarks/measuring/session";
import type { MeasurementRecord } from "../../benchmarks/results/schema";
import { type TestName, namedTest } from "../../benchmarks/workloads/named-tests";
import type { Workload } from "../../benchmarks/workloads/workload";
import { Failure } from "../../lib/errors";
import { median, medianInterval } from "../../lib/statistics/median";
import { form } from "../../valkey/formation/form";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import { type Benchmark, type BenchServers, alternatingSides, hostPlan, runDirectly } from "../workbench";
import { type BenchRow, atLeast, atMost, comparedRow, singleRow } from "../row";

/** The deployments of the stack `local`. */
const CLUSTER = { primaries: 3, replicasPerPrimary: 1 };
const PLANS = [
  hostPlan("replication", "replication", { primaries: 1, replicasPerPrimary: 3 }),
  hostPlan("cluster", "cluster", CLUSTER),
];
const TESTS: readonly TestName[] = ["set", "get"];
const WORKLOAD: Omit<Workload, "tests"> = {
  ...{ name: undefined, clients: 48, pipeline: 16, dataSize: 256, threads: 1, keySpace: 98_304 },
  ...{ length: { seconds: 3 }, warmup: 1, rate: undefined },
};
const PAIRS = 9;
const ROW = "throughput";
const CLOCK = "clock";

export const throughput: Benchmark = {
  title: "Throughput, beside valkey-benchmark run directly",
  ids: [ROW, CLOCK],
  run: ({ workbench, wanted, report, emit }) =>
    workbench.withServers(PLANS, async (servers) => {
      const all: PairedRates[] = [];
      for (const deployment of servers.deployments) {
        // The shape of replication is not asked for.
        await form(deployment, CLUSTER, { signal: servers.signal });
        const { verdict } = await verify(deployment);
        if (!verdict.pass) throw new Failure(verdictLine(verdict));
        const session = await Session.open({ deployment, shards: verdict.shards });
        try {
          for (const test of TESTS) {
            const load = await DirectLoad.ready(servers, session, test);
            const what = `${namedTest(test).title} on ${deployment.name}`;
            const pairs = await measurePairs(what, load, servers, wanted.has(ROW));
            report(wanted.has(ROW) ? describe(pairs) : `${pairs.what}: ${pairs.ours.length} times`);
            all.push(pairs);
          }
        } finally {
          await session.close();
        }
      }
      if (wanted.has(ROW)) emit(throughputRow(all));
      emit(clockRow(all.flatMap(({ readings }) => readings)));
    }),
};

interface PairedRates {
  /** `SET on cluster` */
  readonly what: string;
  readonly ours: number[];
  readonly reference: number[];
  readonly readings: ClockReading[];
}

async function measurePairs(
  what: string,
  load: DirectLoad,
  { host, signal }: BenchServers,
  isCompared: boolean,
): Promise<PairedRates> {
  const pairs: PairedRates = { what, ours: [], reference: [], readings: [] };
  for (const side of alternatingSides(PAIRS))
    if (side === "ours") {
      const { measured, record } = await load.byRunner();
      pairs.ours.push(record.client.rps);
      pairs.readings.push(readingOf(record, measured));
    } else if (isCompared) {
      // The same flags, without sampling beside it.
      const options = { run: host.run, signal, timeoutSeconds: 30 };
      const args = valkeyBenchmarkArguments(load.nextRun());
      pairs.reference.push(parseSingleReport((await runDirectly(host.programs.benchmark, args, options)).output).rate);
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
function throughputRow(all: readonly PairedRates[]): BenchRow {
  const mean = (side: "ours" | "reference"): number => geometricMean(all.map((pairs) => median(pairs[side])));
  const how = `medians of ${PAIRS} each in turn (95 % of pairs)`;
  const what = `geometric mean of measured rate over rate of a direct run, ${how}: ${all.map(describe).join(", ")}`;
  const rates = { ours: mean("ours"), reference: mean("reference") };
  return comparedRow({ id: ROW, what, unit: "rps" }, rates, "ours/reference", atLeast(0.99));
}

/** One named test on one deployment, measured as often as wanted, without a series around it. */
class DirectLoad {
  #seed = Date.now() % 1_000_000_000;
  #rounds = 0;

  private constructor(
    private readonly session: Session,
    readonly test: TestName,
    private readonly servers: BenchServers,
  ) {}

  /**
   * Writes the keys and warms up.
   * @throws Failure when valkey-benchmark has no --duration: its rates are then exact only to a tick of its clock
   */
  static async ready(servers: BenchServers, session: Session, test: TestName): Promise<DirectLoad> {
    const { host, runner, signal } = servers;
    if (!runner.features.duration)
      throw new Failure(
        `valkey-benchmark ${host.programs.version} has no --duration (9.1 has); ` +
          "rows without it: npm run bench -- formation verification plan",
      );
    const { keySpace, dataSize, warmup } = WORKLOAD;
    await session.prepareKeys(namedTest(test), { keySpace, dataSize, stock: 0 }, signal);
    const load = new DirectLoad(session, test, servers);
    await load.#measure({ ...load.nextRun(), length: { seconds: warmup } });
    return load;
  }

  async byRunner(): Promise<{ readonly measured: MeasuredLoad; readonly record: MeasurementRecord }> {
    const run = this.nextRun();
    const measured = await this.#measure(run);
    const round = ++this.#rounds;
    const context = { deployment: this.session.deployment, testName: this.test, run, round, ranEmpty: false };
    return { measured, record: namedTestRecord(measured, context) };
  }

  nextRun(): ValkeyBenchmarkRun {
    const { endpoint, user, deployment } = this.session;
    return {
      ...{ mode: deployment.mode, endpoint, test: namedTest(this.test), length: WORKLOAD.length },
      ...{ workload: { ...WORKLOAD, tests: [this.test] }, seed: this.#seed++, credentials: user, tls: undefined },
    };
  }

  #measure(run: ValkeyBenchmarkRun): Promise<MeasuredLoad> {
    const { deployment, primary, nodes } = this.session;
    const { runner, signal } = this.servers;
    return measure({ deployment, primary, run, warmUp: undefined }, countedCommands(run), nodes, runner, signal);
  }
}

/** How far one measurement's rate is from the servers', as a share of theirs. */
interface ClockReading {
  /** By the servers' counts, over the time that the load generator reports: what every record has. */
  readonly byCounts: number;
  /** By the servers' counts and their own clocks; undefined where a run has too few samples. */
  readonly byClocks: number | undefined;
}

function readingOf({ servers, client }: MeasurementRecord, { counters }: Pick<MeasuredLoad, "counters">): ClockReading {
  const primaries = [...counters].flatMap(([node, samples]) =>
    node.role === "primary" && typeof samples !== "string" ? [ownRate(samples)] : [],
  );
  const known = primaries.flatMap((rate) => rate ?? []);
  const sum = known.reduce((total, rate) => total + rate, 0);
  return {
    byCounts: servers?.disagreement ?? 1,
    byClocks: known.length < primaries.length || sum === 0 ? undefined : client.rps / sum - 1,
  };
}

/**
 * Calls per second of a load that begins after the first sample and ends before the last, from the server's samples
 * alone. Its beginning and end follow from the rates between the samples next to them.
 */
export function ownRate(samples: readonly CounterSample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const during = samples.filter(({ calls }) => calls > first.calls && calls < last.calls);
  const [[a, b], [y, z]] = [during, during.slice(-2)];
  if (a === undefined || b === undefined || y === undefined || z === undefined) return undefined;
  const rate = (from: CounterSample, to: CounterSample): number => (to.calls - from.calls) / (to.atMs - from.atMs);
  const beganMs = a.atMs - (a.calls - first.calls) / rate(a, b);
  const endedMs = z.atMs + (last.calls - z.calls) / rate(y, z);
  return (1000 * (last.calls - first.calls)) / (endedMs - beganMs);
}

/**
 * The row is the larger of two errors: the largest by counts and the median by clocks. Counts do not show a load
 * generator that reports a wrong time; clocks are inexact where a load begins and ends.
 */
export function clockRow(readings: readonly ClockReading[]): BenchRow {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  const byCounts = Math.max(...readings.map((each) => Math.abs(each.byCounts)));
  const clocks = readings.flatMap((each) => each.byClocks ?? []);
  const byClocks = clocks.length === 0 ? 1 : median(clocks);
  const worst = `${percent(byCounts)} at worst in ${readings.length} records`;
  const what = `error of the reported rate by the servers' counters: ${worst}; median by their clocks ${percent(byClocks)}`;
  return singleRow({ id: CLOCK, what, unit: "%" }, 100 * Math.max(byCounts, Math.abs(byClocks)), atMost(1));
}
