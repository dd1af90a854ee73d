/** The open-loop generator as a load generator: processes on this machine, with their CPU and the machine's sampled beside them. */
import type { Deployment } from "../../../valkey/deployment";
import { Failure, messageOf } from "../../../lib/errors";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import type { BenchmarkUser } from "../benchmark-user";
import { clientCpu } from "../client-cpu";
import type { CpuSample } from "../../../platforms/host/cpu";
import { cpuWithin, sampleCpu } from "../../../platforms/host/cpu";
import { latencySummary } from "../merge-reports";
import type { LoadRequest, LoadRunner, LoadOutcome, LoadObserver } from "../load-runner";
import { LoadGeneratorFailure } from "../load-runner";
import type { Offering } from "../../results/schema";
import type { LoadReport } from "../valkey-benchmark/output";
import type { OpenLoopWorkload } from "../../workloads/mixed-workload";
import { GeneratorProcess } from "./generator-process";
import { epochMs } from "../../../lib/clock";
import type { OpenLoopPlan } from "./plan";
import { workloadPlan } from "./plan";
import { Tally } from "./tally";

/** One run of the generator. */
export interface OpenLoopRun {
  readonly mix: OpenLoopWorkload;
  /** By name: who is written to where there are no slots. */
  readonly primary: string;
  readonly seed: number;
  readonly credentials: BenchmarkUser | undefined;
}

export interface LocalOpenLoopOptions {
  readonly run: RunDirectory;
  /** Whether the servers run on this machine too. */
  readonly serversHere: boolean;
}

const CPU_INTERVAL_MS = 100;

export class LocalOpenLoopRunner implements LoadRunner<OpenLoopRun> {
  readonly count = 1;

  constructor(private readonly local: LocalOpenLoopOptions) {}

  async run(
    { deployment, run: tool, warmUp }: LoadRequest<OpenLoopRun>,
    watch: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const endpoints = endpointsPrimaryFirst(deployment, tool.primary);
    if (warmUp !== undefined) await this.#once(openLoopPlan(warmUp, deployment, endpoints), signal);
    const plan = openLoopPlan(tool, deployment, endpoints);
    const { tallies, startedAt, cpu, runnerCores } = await this.#once(plan, signal, watch);
    const tally = Tally.merge(tallies);
    const { fromMs, toMs } = tally;
    const latencies = tally.latencies();
    const seconds = Math.max(toMs - fromMs, 1) / 1000;
    return {
      report: openLoopReport(tally, tool.mix.name),
      latencies,
      offering: offeringOf(tally, seconds),
      fromMs,
      toMs,
      startedAt,
      outputs: [
        {
          warmUp: false,
          runner: undefined,
          command: ["open-loop", JSON.stringify({ ...plan, access: "***" })],
          text: `${JSON.stringify(
            tallies.map((each) => each.data()),
            null,
            1,
          )}\n`,
        },
      ],
      cpu: clientCpu([cpuWithin(cpu, fromMs, toMs)], {
        threads: plan.workers,
        program: runnerCores,
        serversHere: this.local.serversHere,
      }),
      runners: [],
      warnings: [],
    };
  }

  async #once(
    plan: OpenLoopPlan,
    signal: AbortSignal,
    watch?: LoadObserver,
  ): Promise<{ tallies: Tally[]; startedAt: string; cpu: readonly CpuSample[]; runnerCores: number }> {
    signal.throwIfAborted();
    const generator = await GeneratorProcess.start(this.local.run, plan);
    const kill = (): void => {
      void generator.kill();
    };
    signal.addEventListener("abort", kill);
    try {
      await watch?.begin();
      const startedAt = new Date().toISOString();
      const begun = epochMs();
      const ownCpu = process.cpuUsage();
      const cpu: CpuSample[] = [sampleCpu(generator.pid, begun)];
      const timer = setInterval(() => cpu.push(sampleCpu(generator.pid, epochMs())), CPU_INTERVAL_MS);
      const tallies = await generator.run().finally(() => {
        clearInterval(timer);
      });
      const { user, system } = process.cpuUsage(ownCpu);
      const runnerCores = (user + system) / 1000 / (epochMs() - begun);
      await watch?.end();
      return { tallies, startedAt, cpu, runnerCores };
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Failure ? new LoadGeneratorFailure(messageOf(error), "", { cause: error }) : error;
    } finally {
      signal.removeEventListener("abort", kill);
      await generator.kill();
    }
  }
}

/** As valkey-benchmark's is: of what was acknowledged. */
export function openLoopReport(tally: Tally, title: string): LoadReport {
  const seconds = Math.max(tally.toMs - tally.fromMs, 1) / 1000;
  return {
    ...latencySummary(title, tally.latencies()),
    requests: tally.acknowledged,
    rate: tally.acknowledged / seconds,
    seconds,
  };
}

/** The primary first, so that replication knows which it is. */
export function endpointsPrimaryFirst(
  { nodes }: Pick<Deployment, "nodes">,
  primary: string,
): OpenLoopPlan["endpoints"] {
  return [...nodes]
    .sort((a, b) => Number(b.name === primary) - Number(a.name === primary))
    .map(({ endpoint }) => ({ ...endpoint }));
}

/** What the first of so many processes is told. */
export function openLoopPlan(
  { mix, seed, credentials }: OpenLoopRun,
  { mode, access }: Pick<Deployment, "mode" | "access">,
  endpoints: OpenLoopPlan["endpoints"],
  processes = 1,
): OpenLoopPlan {
  // Keys that are not there are left out, as JSON does.
  const given = JSON.parse(JSON.stringify({ ...credentials, tls: access.tls })) as OpenLoopPlan["access"];
  return { ...workloadPlan(mix), mode, endpoints, access: given, seed, process: 0, processes };
}

/** What records say of an open loop. @param seconds that it took */
export function offeringOf(tally: Tally, seconds: number): Offering {
  const { offered, sent, acknowledged, failed, unknown, redirects, reconnects, mostInFlight, lag, busySeconds } = tally;
  return {
    offered,
    sent,
    acknowledged,
    failed,
    unknown,
    redirects,
    reconnects,
    mostInFlight,
    lagP50Ms: lag.percentileMs(0.5),
    lagP99Ms: lag.percentileMs(0.99),
    lagMaxMs: lag.maxMs,
    lag: lag.encode(),
    busy: busySeconds / seconds,
  };
}
