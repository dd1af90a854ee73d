/**
 * Runs the open-loop generator as a process on this machine, and samples the CPU use of the process and of the machine.
 */
import type { Deployment } from "../../../valkey/deployment";
import { Failure, messageOf } from "../../../lib/errors";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import type { BenchmarkUser } from "../benchmark-user";
import { clientCpu } from "../client-cpu";
import type { CpuSample } from "../../../platforms/host/cpu";
import { cpuWithin, sampleCpu } from "../../../platforms/host/cpu";
import { latencySummary } from "../merge-reports";
import type { LoadRequest, LoadDriver, LoadOutcome, LoadObserver } from "../load-driver";
import { LoadGeneratorFailure } from "../load-driver";
import type { OpenLoopCounts } from "../../results/schema";
import type { LoadReport } from "../load-report";
import type { OpenLoopWorkload } from "../../workloads/mixed-workload";
import { GeneratorProcess } from "./generator-process";
import { epochMs } from "../../../lib/clock";
import type { OpenLoopPlan } from "./plan";
import { workloadPlan } from "./plan";
import { Tally } from "./tally";

/** One run of the open-loop generator. */
export interface OpenLoopRun {
  readonly mix: OpenLoopWorkload;
  /** Name of the primary. In replication mode, the primary receives the writes. */
  readonly primary: string;
  readonly seed: number;
  readonly credentials: BenchmarkUser | undefined;
}

/** Options of a driver, the same for all its runs. */
export interface LocalOpenLoopOptions {
  readonly run: RunDirectory;
  /** Whether the servers also run on this machine. */
  readonly serversHere: boolean;
}

/** Time between two CPU samples, milliseconds. */
const CPU_INTERVAL_MS = 100;

/** Runs the open-loop generator as a process on this machine. */
export class LocalOpenLoopDriver implements LoadDriver<OpenLoopRun> {
  readonly count = 1;

  constructor(private readonly options: LocalOpenLoopOptions) {}

  async run(
    { deployment, run, warmUp }: LoadRequest<OpenLoopRun>,
    observer: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const endpoints = endpointsPrimaryFirst(deployment, run.primary);
    if (warmUp !== undefined) await this.#runOnce(openLoopPlan(warmUp, deployment, endpoints), signal);
    const plan = openLoopPlan(run, deployment, endpoints);
    const { tallies, startedAt, cpu, programCores } = await this.#runOnce(plan, signal, observer);
    const tally = Tally.merge(tallies);
    const { fromMs, toMs } = tally;
    const latencies = tally.latencies();
    const data = tallies.map((each) => each.data());
    const seconds = Math.max(toMs - fromMs, 1) / 1000;
    return {
      report: openLoopReport(tally, run.mix.name),
      latencies,
      offering: openLoopCounts(tally, seconds),
      fromMs,
      toMs,
      startedAt,
      outputs: [
        {
          warmUp: false,
          runner: undefined,
          command: ["open-loop", JSON.stringify({ ...plan, access: "***" })],
          text: `${JSON.stringify(data, null, 1)}\n`,
        },
      ],
      cpu: clientCpu([cpuWithin(cpu, fromMs, toMs)], {
        threads: plan.workers,
        program: programCores,
        serversHere: this.options.serversHere,
      }),
      runners: [],
      warnings: [],
    };
  }

  async #runOnce(
    plan: OpenLoopPlan,
    signal: AbortSignal,
    observer?: LoadObserver,
  ): Promise<{ tallies: Tally[]; startedAt: string; cpu: readonly CpuSample[]; programCores: number }> {
    signal.throwIfAborted();
    const generator = await GeneratorProcess.start(this.options.run, plan);
    const kill = (): void => {
      void generator.kill();
    };
    signal.addEventListener("abort", kill);
    try {
      await observer?.begin();
      const startedAt = new Date().toISOString();
      const beganMs = epochMs();
      const ownCpu = process.cpuUsage();
      const cpu: CpuSample[] = [sampleCpu(generator.pid, beganMs)];
      const timer = setInterval(() => cpu.push(sampleCpu(generator.pid, epochMs())), CPU_INTERVAL_MS);
      const tallies = await generator.run().finally(() => {
        clearInterval(timer);
      });
      const { user, system } = process.cpuUsage(ownCpu);
      const programCores = (user + system) / 1000 / (epochMs() - beganMs);
      await observer?.end();
      return { tallies, startedAt, cpu, programCores };
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Failure ? new LoadGeneratorFailure(messageOf(error), "", { cause: error }) : error;
    } finally {
      signal.removeEventListener("abort", kill);
      await generator.kill();
    }
  }
}

/** The acknowledged requests in the form of valkey-benchmark's report. */
export function openLoopReport(tally: Tally, title: string): LoadReport {
  const seconds = Math.max(tally.toMs - tally.fromMs, 1) / 1000;
  return {
    ...latencySummary(title, tally.latencies()),
    requests: tally.acknowledged,
    rate: tally.acknowledged / seconds,
    seconds,
  };
}

/**
 * The endpoints of all nodes. The primary comes first, because in replication mode the first endpoint of a plan
 * receives the writes.
 */
export function endpointsPrimaryFirst(
  { nodes }: Pick<Deployment, "nodes">,
  primary: string,
): OpenLoopPlan["endpoints"] {
  return [...nodes]
    .sort((a, b) => Number(b.name === primary) - Number(a.name === primary))
    .map(({ endpoint }) => ({ ...endpoint }));
}

/** The plan for the first of several processes. The plans of the other processes are derived from it. */
export function openLoopPlan(
  { mix, seed, credentials }: OpenLoopRun,
  { mode, access }: Pick<Deployment, "mode" | "access">,
  endpoints: OpenLoopPlan["endpoints"],
  processes = 1,
): OpenLoopPlan {
  // JSON drops keys whose value is undefined. The schema rejects such keys.
  const given = JSON.parse(JSON.stringify({ ...credentials, tls: access.tls })) as OpenLoopPlan["access"];
  return { ...workloadPlan(mix), mode, endpoints, access: given, seed, process: 0, processes };
}

/** The part of a record that describes the offered load. @param seconds duration of the measurement */
export function openLoopCounts(tally: Tally, seconds: number): OpenLoopCounts {
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
