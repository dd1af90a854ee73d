/** The flags of S1 by hand: what valkey-benchmark prints for them is a count of its ticks, and not a rate. */
import { Failure } from "../../lib/errors";
import { Session } from "../../benchmarks/measuring/session";
import { median } from "../../lib/statistics/median";
import { formatCount } from "../../lib/units";
import { CLOCK_TICK_SECONDS } from "../../benchmarks/load/valkey-benchmark/arguments";
import { parseReports } from "../../benchmarks/load/valkey-benchmark/output";
import { verify } from "../../valkey/verification/verify";
import type { TestName } from "../../benchmarks/workloads/named-tests";
import { namedTest } from "../../benchmarks/workloads/named-tests";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import type { LoadSettings } from "./load";
import { DirectLoad } from "./load";
import type { BenchRow } from "./row";
import type { BenchServers } from "./workbench";
import { runDirectly, hostPlan } from "./workbench";

const REQUESTS = 500_000;
const TESTS = ["set", "get", "incr"] as const satisfies readonly TestName[];
/** Word for word. */
const FLAGS = `-n ${REQUESTS} -c 50 -P 16 -d 256 --threads 4 -r 1000000 -t ${TESTS.join(",")}`;
/** The same load by our rules: for seconds instead of a count, on keys that are all there. */
const SENDING: LoadSettings = {
  name: undefined,
  clients: 50,
  pipeline: 16,
  dataSize: 256,
  threads: 4,
  keySpace: 1_000_000,
  length: { seconds: 3 },
  warmup: 1,
  rate: undefined,
};
/** Odd, so that the median is a rate that was printed. */
const REPEATS = { ours: 3, reference: 5 };
/**
 * The row is met when most of the printed rates are n over a whole number of ticks, which is what it is to show: one in
 * twenty of any others would be. A tick comes 250 ms after the work of the last was done, so the rate is a little below
 * that: by 0.2 % on an idle machine, by 0.9 % beside others, now and then by more. Beyond ten ticks any rate is near to
 * some number of them.
 */
const LATE = 0.01;
const EARLY = 0.001;
const MOST_TICKS = 10;

const idOf = (test: TestName): string => `s1-flags-${test}`;

export const valkeyOnEksFlags: Benchmark = {
  title: "S1's flags by hand",
  ids: TESTS.map(idOf),
  run: ({ workbench, ...order }) =>
    workbench.withServers(
      [hostPlan("alone", "replication", { primaries: 1, replicasPerPrimary: 0 })],
      async (servers) => {
        const {
          deployments: [deployment],
        } = servers;
        if (deployment === undefined) throw new Error("no deployment was started");
        const { verdict } = await verify(deployment);
        const session = await Session.open({ deployment, shards: verdict.shards });
        try {
          const printed = await printedRates(servers, session);
          for (const test of TESTS)
            if (order.wanted.has(idOf(test)))
              order.emit(rowOf(test, printed.get(test) ?? [], await ourRate(test, servers, session), order));
        } finally {
          await session.close();
        }
      },
    ),
};

/** What the tool prints for each test, run after run, on a server that has no keys at first, as S1's had none. */
async function printedRates(
  { host, signal }: BenchServers,
  { endpoint, user }: Session,
): Promise<Map<TestName, number[]>> {
  const credentials = user === undefined ? [] : ["--user", user.username, "-a", user.password];
  const args = ["-h", endpoint.host, "-p", String(endpoint.port), ...credentials, ...FLAGS.split(" ")];
  const rates = new Map<TestName, number[]>(TESTS.map((test) => [test, []]));
  for (let repeat = 0; repeat < REPEATS.reference; repeat++) {
    const { output } = await runDirectly(host.programs.benchmark, args, { run: host.run, signal });
    const reports = parseReports(output);
    for (const test of TESTS) {
      const report = reports.find(({ title }) => title === namedTest(test).title);
      if (report === undefined) throw new Failure(`valkey-benchmark printed no report of ${namedTest(test).title}`);
      rates.get(test)?.push(report.rate);
    }
  }
  return rates;
}

/** The median over the repeats. */
async function ourRate(test: TestName, servers: BenchServers, session: Session): Promise<number> {
  const load = await DirectLoad.ready(servers, session, SENDING, test);
  const rates: number[] = [];
  while (rates.length < REPEATS.ours) rates.push((await load.byRunner()).record.client.rps);
  return median(rates);
}

function rowOf(
  test: TestName,
  printed: readonly number[],
  ours: number,
  { report }: Pick<BenchmarkContext, "report">,
): BenchRow {
  const { title } = namedTest(test);
  const reference = median(printed);
  report(`${title}: ${printed.map(formatCount).join(", ")} printed for S1's flags, ${formatCount(ours)} measured`);
  return {
    id: idOf(test),
    what: `${title}: beside our figure, what is printed for ${FLAGS}: the median of ${printed.map(formatCount).join(", ")}`,
    unit: "rps",
    ours,
    reference,
    ratio: ours / reference,
    target: `n / (k × ${CLOCK_TICK_SECONDS * 1000} ms)`,
    met: printed.filter((rate) => isOfWholeTicks(rate, REQUESTS)).length > printed.length / 2,
  };
}

/** Whether a rate is what so many requests make in a whole number of ticks. Pure. */
export function isOfWholeTicks(rate: number, requests: number): boolean {
  const ticks = Math.max(1, Math.round(requests / rate / CLOCK_TICK_SECONDS));
  const part = (rate * ticks * CLOCK_TICK_SECONDS) / requests;
  return ticks <= MOST_TICKS && part >= 1 - LATE && part <= 1 + EARLY;
}
