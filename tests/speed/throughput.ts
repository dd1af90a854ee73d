/** What our runner costs the figure it reports: the same valkey-benchmark by it and by hand, in turn, on the same servers. */
import { Failure } from "../../benchmarks/errors";
import { form } from "../../benchmarks/formation/form";
import { recordOf } from "../../benchmarks/measuring/evidence";
import type { Measured, WatchedNode } from "../../benchmarks/measuring/measure";
import { measure } from "../../benchmarks/measuring/measure";
import { Session } from "../../benchmarks/measuring/session";
import { median, medianInterval } from "../../benchmarks/results/statistics";
import type { MedianInterval } from "../../benchmarks/results/statistics";
import { toolArguments } from "../../benchmarks/valkey-benchmark/arguments";
import type { ToolRun } from "../../benchmarks/valkey-benchmark/arguments";
import { parseReports } from "../../benchmarks/valkey-benchmark/output";
import { verdictLine } from "../../benchmarks/verification/format";
import { verify } from "../../benchmarks/verification/verify";
import { namedTest } from "../../benchmarks/workloads/named-tests";
import type { TestName } from "../../benchmarks/workloads/named-tests";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { Benchmark, Order } from "./benchmark";
import type { ClockReading } from "./clock";
import { CLOCK, clockRow, readingOf } from "./clock";
import { atLeast, sideBySide } from "./result";
import type { Servers } from "./workbench";
import { alternating, byHand, planOf, refuseWithoutDuration } from "./workbench";

/** As the stack `local` has them. */
const PLANS = [
  planOf("replication", "replication", { primaries: 1, replicasPerPrimary: 3 }),
  planOf("cluster", "cluster", { primaries: 3, replicasPerPrimary: 1 }),
];
const TESTS = ["set", "get"] as const satisfies readonly TestName[];
const LOAD: Omit<Workload, "tests"> = { name: undefined, clients: 48, pipeline: 16, dataSize: 256, threads: 1, keySpace: 98_304, length: { seconds: 3 }, warmup: 1, rate: undefined };
/** Of our rate over that by hand. */
const TARGET = atLeast(0.99);
/** Pairs are measured until their ratio is known so well, or that many times. */
const PAIRS = { least: 6, most: 10, halfWidth: 0.005 };

interface Variant {
  readonly id: string;
  readonly deployment: string;
  readonly test: TestName;
}

const VARIANTS: readonly Variant[] = PLANS.flatMap(({ name }) => TESTS.map((test) => ({ id: `throughput-${name}-${test}`, deployment: name, test })));

export const throughput: Benchmark = {
  title: "Throughput, beside valkey-benchmark by hand",
  ids: [...VARIANTS.map(({ id }) => id), CLOCK],
  run: ({ bench, ...order }) =>
    bench.withServers(PLANS, async (servers) => {
      await refuseWithoutDuration(servers.host.programs);
      const readings: ClockReading[] = [];
      for (const [index, { shape }] of PLANS.entries()) {
        const deployment = servers.deployments[index];
        if (deployment === undefined) throw new Error("a deployment was not started");
        await form(deployment, shape, { signal: servers.signal });
        const { verdict } = await verify(deployment);
        if (!verdict.pass) throw new Failure(verdictLine(verdict));
        const session = await Session.open({ deployment, shards: verdict.shards });
        try {
          const variants = VARIANTS.filter((each) => each.deployment === deployment.name && (order.wanted.has(each.id) || order.wanted.has(CLOCK)));
          for (const variant of variants) readings.push(...(await new Pairs(variant, servers, session, order).measure()));
        } finally {
          await session.close();
        }
      }
      if (order.wanted.has(CLOCK)) order.emit(clockRow(readings));
    }),
};

class Pairs {
  readonly #readings: ClockReading[] = [];
  readonly #rates = { ours: [] as number[], reference: [] as number[] };
  #seed = Date.now() % 1_000_000_000;

  constructor(
    private readonly variant: Variant,
    private readonly servers: Servers,
    private readonly session: Session,
    private readonly order: Omit<Order, "bench">,
  ) {}

  /** @returns what the records say of the clocks */
  async measure(): Promise<readonly ClockReading[]> {
    const { wanted, report, emit } = this.order;
    const { id, test, deployment } = this.variant;
    await this.session.prepare(namedTest(test), { keySpace: LOAD.keySpace, dataSize: LOAD.dataSize, stock: 0 }, this.servers.signal);
    await this.#measure({ ...this.#tool(), length: { seconds: LOAD.warmup } }, []);
    const isCompared = wanted.has(id);
    for (const side of alternating(PAIRS.most)) {
      if (side === "ours") await this.#byRunner();
      else if (isCompared) await this.#byHand();
      if (this.#isEnough(isCompared)) break;
    }
    if (!isCompared) return this.#readings;
    const { title } = namedTest(test);
    const pairs = this.#pairwise();
    const interval = `${pairs.low.toFixed(3)} to ${pairs.high.toFixed(3)} at ${Math.round(pairs.confidence * 100)} %`;
    const what = `${title} on ${deployment} through our runner and by hand, medians of ${this.#rates.reference.length} each in turn; pair by pair ${pairs.median.toFixed(3)}, ${interval}`;
    const result = sideBySide({ id, what, unit: "rps" }, { ours: median(this.#rates.ours), reference: median(this.#rates.reference) }, "ours/reference", TARGET);
    report(`${title} on ${deployment}: ${(result.ratio ?? NaN).toFixed(3)} of the rate by hand, pair by pair ${interval}`);
    emit(result);
    return this.#readings;
  }

  async #byRunner(): Promise<void> {
    const tool = this.#tool();
    const { session, variant } = this;
    const measured = await this.#measure(tool, session.nodes);
    const context = { deployment: session.deployment, testName: variant.test, tool, round: this.#readings.length + 1, ranEmpty: false };
    this.#readings.push(readingOf(recordOf(measured, context), measured));
    this.#rates.ours.push(measured.report.rate);
  }

  /** The very flags of the runner, and nobody watching. */
  async #byHand(): Promise<void> {
    const { host, signal } = this.servers;
    const { output } = await byHand(host.programs.benchmark, toolArguments(this.#tool()), { run: host.run, signal, patienceSeconds: 30 });
    this.#rates.reference.push(...parseReports(output).map(({ rate }) => rate));
  }

  #isEnough(isCompared: boolean): boolean {
    const { ours, reference } = this.#rates;
    if (!isCompared) return ours.length >= PAIRS.least;
    if (ours.length !== reference.length || ours.length < PAIRS.least) return false;
    const { low, high } = this.#pairwise();
    return (high - low) / 2 <= PAIRS.halfWidth;
  }

  #pairwise(): MedianInterval {
    return medianInterval(this.#rates.ours.map((rate, pair) => rate / (this.#rates.reference[pair] ?? NaN)));
  }

  #tool(): ToolRun {
    const { endpoint, user, deployment } = this.session;
    const { test } = this.variant;
    return { mode: deployment.mode, endpoint, test: namedTest(test), workload: { ...LOAD, tests: [test] }, length: LOAD.length, seed: this.#seed++, credentials: user, tls: undefined };
  }

  #measure(tool: ToolRun, nodes: readonly WatchedNode[]): Promise<Measured> {
    const { deployment, primary } = this.session;
    return measure({ deployment, primary, tool, warmUp: undefined }, nodes, this.servers.runner, this.servers.signal);
  }
}
