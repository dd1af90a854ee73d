/** Tools that benchmarks share: fresh servers that are stopped afterwards, and programs run directly. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../benchmarks/measuring/session";
import type { Mode } from "../valkey/node";
import type { Deployment } from "../valkey/deployment";
import { Failure } from "../lib/errors";
import type { HostDeploymentPlan } from "../platforms/host/deployment-plan";
import { Host } from "../platforms/host/host";
import { formatExit, startRecorded } from "../platforms/host/processes";
import { identifyProcess, signalProcess } from "../lib/system/process-identity";
import { type Programs, findPrograms } from "../platforms/host/programs/programs";
import { RunDirectory } from "../platforms/host/run-directory";
import { LocalValkeyBenchmarkDriver } from "../benchmarks/load/valkey-benchmark/local-driver";
import type { ValkeyBenchmarkDriver } from "../benchmarks/load/valkey-benchmark/local-driver";
import { packagesDirectory } from "../lib/system/paths";
import { GeneratorProcess } from "../benchmarks/load/open-loop/generator-process";
import type { OpenLoopPlan } from "../benchmarks/load/open-loop/plan";
import { Tally } from "../benchmarks/load/tally";
import type { ServerSettings } from "../valkey/settings/settings";
import type { Shape } from "../valkey/topology/placement";
import { detectFeatures } from "../benchmarks/load/valkey-benchmark/arguments";
import { pulumiPath } from "../tests/support/pulumi/pulumi-stack";
import { KUBECONFIG } from "../tests/support/kubernetes/throw-away";
import type { ReportProgress } from "../lib/progress";
import type { Event } from "./model/events";
import type { BenchRow } from "./row";

/** Servers that run until `withServers` stops them. */
export interface BenchServers {
  readonly host: Host;
  readonly deployments: readonly Deployment[];
  /** Runs valkey-benchmark as the project does. */
  readonly runner: ValkeyBenchmarkDriver;
  /** Aborted by the user, or when a server exits unexpectedly. */
  readonly signal: AbortSignal;
}

/** Servers of one deployment. */
export interface DeploymentServers extends BenchServers {
  readonly deployment: Deployment;
}

/** Starts and stops servers for benchmarks. */
export class Workbench {
  #programs: Promise<Programs> | undefined;

  constructor(
    readonly runs: string,
    readonly signal: AbortSignal,
  ) {}

  /**
   * Starts the servers of these plans, and stops them when `use` has ended or failed.
   * @param programs programs of the servers. @default those that a user's commands find
   */
  async withServers<T>(
    plans: readonly HostDeploymentPlan[],
    use: (servers: BenchServers) => Promise<T>,
    programs?: Programs,
  ): Promise<T> {
    this.#programs ??= findPrograms(packagesDirectory(), () => undefined, this.signal);
    const host = new Host(RunDirectory.create(this.runs, "bench"), programs ?? (await this.#programs));
    try {
      const signal = AbortSignal.any([this.signal, host.unexpectedExit]);
      const deployments: Deployment[] = [];
      for (const plan of plans) deployments.push(await host.start(plan, signal));
      const { benchmark } = host.programs;
      const features = await detectFeatures(benchmark);
      const runner = new LocalValkeyBenchmarkDriver({ run: host.run, benchmark, features, serversHere: true });
      return await use({ host, deployments, runner, signal });
    } catch (error) {
      // When a server exits, connections break too; the reason of the exit says more.
      const death: unknown = host.unexpectedExit.reason;
      throw death instanceof Error && !this.signal.aborted ? death : error;
    } finally {
      await host.stop();
    }
  }

  /**
   * Starts the servers of one plan as `withServers` does.
   * @param use also gets the deployment. A cluster is not formed yet
   */
  withDeployment<T>(
    plan: HostDeploymentPlan,
    use: (servers: DeploymentServers) => Promise<T>,
    programs?: Programs,
  ): Promise<T> {
    const withFirst = (servers: BenchServers): Promise<T> => {
      const [deployment] = servers.deployments;
      if (deployment === undefined) throw new Error("no deployment was started");
      return use({ ...servers, deployment });
    };
    return this.withServers([plan], withFirst, programs);
  }
}

const ZONES = ["zone-a", "zone-b", "zone-c"];

/** Servers with Valkey's default settings, but without persistence. @param more settings in addition */
export function hostPlan(name: string, mode: Mode, shape: Shape, more: ServerSettings = {}): HostDeploymentPlan {
  return { name, mode, shape, settings: { appendonly: false, save: "", ...more }, zones: ZONES };
}

/** Seconds that something takes. */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

/** The last of some times, with two decimals. */
export const lastOf = (seconds: readonly number[]): string => (seconds.at(-1) ?? NaN).toFixed(2);

/** An open-loop load of 64-byte values, nine reads to a write, on servers in replication mode. */
export function openLoopPlan({ endpoint, user }: Session, changes: Partial<OpenLoopPlan>): OpenLoopPlan {
  return {
    ...{ mode: "replication", endpoints: [{ ...endpoint }], access: { ...user }, data: "strings", reads: 0.9 },
    ...{ keySpace: 100_000, keys: { distribution: "uniform" }, values: { sizes: "fixed", bytes: 64 } },
    ...{ arrivals: "fixed", rate: 1, clients: 48, pipeline: 1, readFrom: "primary", timeoutMs: 10_000 },
    ...{ queue: 1_000_000, seconds: 1, seed: 1, workers: 1, process: 0, processes: 1 },
    ...changes,
  };
}

/** Offers an open-loop load once. @throws the signal's reason */
export async function runGenerator(
  { host, signal }: Pick<BenchServers, "host" | "signal">,
  plan: OpenLoopPlan,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  before: (generator: GeneratorProcess) => Promise<unknown> = () => Promise.resolve(),
): Promise<Tally> {
  const generator = await GeneratorProcess.start(host.run, plan);
  const stop = (): void => void generator.kill();
  signal.addEventListener("abort", stop);
  try {
    await before(generator);
    const [tallies] = await Promise.all([generator.run(), meanwhile()]);
    return Tally.merge(tallies);
  } finally {
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
  }
}

interface DirectRunOptions {
  readonly run: RunDirectory;
  readonly signal: AbortSignal;
  /** Passed in the environment, where valkey-cli reads it. */
  readonly password?: string | undefined;
  /** @default 180 */
  readonly timeoutSeconds?: number;
}

/**
 * Runs a program as a user would, and records its process in the run directory.
 * @throws Failure when it fails or does not end in time; the signal's reason
 */
export async function runDirectly(
  program: string,
  args: readonly string[],
  { run, signal, password, timeoutSeconds = 180 }: DirectRunOptions,
): Promise<{ readonly output: string; readonly seconds: number }> {
  signal.throwIfAborted();
  const name = program.slice(program.lastIndexOf("/") + 1);
  const env =
    password === undefined ? process.env : { ...process.env, VALKEYCLI_AUTH: password, REDISCLI_AUTH: password };
  const began = performance.now();
  const { child, pid, ended } = startRecorded(run, name, program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const done = new AbortController();
  const over = { signal: AbortSignal.any([signal, done.signal]) };
  const exit = await Promise.race([ended, sleep(timeoutSeconds * 1000, undefined, over).catch(() => undefined)]);
  const seconds = (performance.now() - began) / 1000;
  done.abort();
  if (exit === undefined) {
    const identity = identifyProcess(pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
    await ended;
    signal.throwIfAborted();
    throw new Failure(`${name} was killed because it was still running after ${timeoutSeconds} s${lastLines(output)}`);
  }
  if (exit.code !== 0) throw new Failure(`${name} failed with ${formatExit(exit)}${lastLines(output)}`);
  return { output, seconds };
}

function lastLines(output: string): string {
  const lines = output.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  return lines.length === 0 ? "" : `; its last output:\n    ${lines.slice(-3).join("\n    ")}`;
}

/** The order A B B A A B …: each side runs first as often as the other. */
export function alternatingSides(pairs: number): ("ours" | "reference")[] {
  return Array.from({ length: pairs }).flatMap((_, pair) =>
    pair % 2 === 0 ? (["ours", "reference"] as const) : (["reference", "ours"] as const),
  );
}

/** Rows that are measured together. */
export interface Benchmark {
  readonly title: string;
  /** Ids of its rows, in the order of the table. */
  readonly ids: readonly string[];
  /** Requirement that this machine does not meet; undefined if it can measure the rows. */
  readonly missing?: string | undefined;
  readonly run: (context: BenchmarkContext) => Promise<void>;
}

/** Options of the rows `model-…`. */
export interface ModelOptions {
  /** Number of random sequences for each row. */
  readonly sequences: number;
  /** Seed of the first sequence; each further one has the next number. */
  readonly seed: number;
  /** Sequence that is run instead of random ones. */
  readonly events?: readonly Event[] | undefined;
}

/** One run of a benchmark. */
export interface BenchmarkContext {
  readonly workbench: Workbench;
  readonly signal: AbortSignal;
  readonly wanted: ReadonlySet<string>;
  /** Sequences of the model. */
  readonly model: ModelOptions;
  readonly report: ReportProgress;
  /** Takes rows as soon as they exist. Rows that are not wanted are dropped. */
  readonly emit: (...rows: readonly BenchRow[]) => void;
}

/** Values of `missing` of benchmarks that need a Kubernetes cluster, or a Pulumi engine that deploys to one. */
export const NO_KUBERNETES =
  KUBECONFIG === undefined ? "VALKEY_TEST_KUBECONFIG names no throw-away cluster" : undefined;
export const NO_STACK = NO_KUBERNETES ?? (pulumiPath() === undefined ? "there is no Pulumi CLI" : undefined);
