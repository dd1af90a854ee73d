/** Tools that benchmarks share: fresh servers that are stopped afterwards, and programs run directly. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Mode } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { Host } from "../../platforms/host/host";
import { formatExit, startRecorded } from "../../platforms/host/processes";
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import type { Programs } from "../../platforms/host/programs/programs";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory } from "../../platforms/host/run-directory";
import { LocalValkeyBenchmarkDriver } from "../../benchmarks/load/valkey-benchmark/local-driver";
import type { ValkeyBenchmarkDriver } from "../../benchmarks/load/valkey-benchmark/driver";
import { packagesDirectory } from "../../lib/system/paths";
import type { Shape } from "../../valkey/topology/placement";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";

/** Servers that run until `withServers` stops them. */
export interface BenchServers {
  readonly host: Host;
  /** In the order of the plans. */
  readonly deployments: readonly Deployment[];
  /** Runs valkey-benchmark as the project does. */
  readonly runner: ValkeyBenchmarkDriver;
  /** Aborted by the user, or when a server exits unexpectedly. */
  readonly signal: AbortSignal;
}

/** Starts and stops servers for benchmarks. */
export class Workbench {
  #programs: Promise<Programs> | undefined;

  constructor(
    /** Directory of the run directories. */
    readonly runs: string,
    /** Aborted by the user. */
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
      const runner = new LocalValkeyBenchmarkDriver({
        run: host.run,
        benchmark,
        features: await detectFeatures(benchmark),
        serversHere: true,
      });
      return await use({ host, deployments, runner, signal });
    } catch (error) {
      // When a server exits, connections break too; the reason of the exit says more.
      const death: unknown = host.unexpectedExit.reason;
      throw death instanceof Error && !this.signal.aborted ? death : error;
    } finally {
      await host.stop();
    }
  }
}

const ZONES = ["zone-a", "zone-b", "zone-c"];

/** Servers with Valkey's default settings, but without persistence. */
export function hostPlan(name: string, mode: Mode, shape: Shape): HostDeploymentPlan {
  return { name, mode, shape, settings: { appendonly: false, save: "" }, zones: ZONES };
}

/** A program that ended with status 0. */
export interface DirectRun {
  readonly output: string;
  /** From start to end. */
  readonly seconds: number;
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
): Promise<DirectRun> {
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
  const timeout = sleep(timeoutSeconds * 1000, undefined, { signal: AbortSignal.any([signal, done.signal]) }).catch(
    () => undefined,
  );
  const exit = await Promise.race([ended, timeout]);
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
  const lines = output
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== "")
    .slice(-3);
  return lines.length === 0 ? "" : `; its last output:\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

/** The order A B B A A B …: each side runs first as often as the other. */
export function alternatingSides(pairs: number): ("ours" | "reference")[] {
  return Array.from({ length: pairs }).flatMap((_, pair) =>
    pair % 2 === 0 ? (["ours", "reference"] as const) : (["reference", "ours"] as const),
  );
}
