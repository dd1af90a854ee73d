/** What the benchmarks share: servers of their own that are fresh each time and gone afterwards, and tools run by hand. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Mode } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import type { HostDeploymentPlan } from "../../platforms/host/host";
import { Host } from "../../platforms/host/host";
import { formatExit, startRecorded } from "../../platforms/host/processes";
import { identifyProcess, signalProcess } from "../../lib/process-identity";
import type { Programs } from "../../platforms/host/programs";
import { findPrograms } from "../../platforms/host/programs";
import { RunDirectory } from "../../platforms/host/run-directory";
import { LocalValkeyBenchmarkRunner } from "../../benchmarks/load/valkey-benchmark/local-runner";
import type { ValkeyBenchmarkRunner } from "../../benchmarks/load/load-runner";
import { packagesDirectory } from "../../lib/paths";
import type { Shape } from "../../valkey/topology/placement";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";

/** Servers that run, until `withServers` is done with them. */
export interface BenchServers {
  readonly host: Host;
  /** In the order of the plans. */
  readonly deployments: readonly Deployment[];
  /** The project's own way to run valkey-benchmark on these. */
  readonly runner: ValkeyBenchmarkRunner;
  /** Aborted when the user says so or a server ends by itself. */
  readonly signal: AbortSignal;
}

export class Workbench {
  #programs: Promise<Programs> | undefined;

  constructor(
    /** Where run directories go. */
    readonly runs: string,
    /** Aborted when the user says so. */
    readonly signal: AbortSignal,
  ) {}

  /** Starts the servers of these plans for as long as `use` takes, and stops them whatever comes of it. */
  async withServers<T>(plans: readonly HostDeploymentPlan[], use: (servers: BenchServers) => Promise<T>): Promise<T> {
    this.#programs ??= findPrograms(packagesDirectory(), () => undefined, this.signal);
    const host = new Host(RunDirectory.create(this.runs, "bench"), await this.#programs);
    try {
      const signal = AbortSignal.any([this.signal, host.unexpectedExit]);
      const deployments: Deployment[] = [];
      for (const plan of plans) deployments.push(await host.start(plan, signal));
      const { benchmark } = host.programs;
      const runner = new LocalValkeyBenchmarkRunner({
        run: host.run,
        benchmark,
        features: await detectFeatures(benchmark),
        serversHere: true,
      });
      return await use({ host, deployments, runner, signal });
    } catch (error) {
      // A server that dies takes connections with it, whose errors say less than its log.
      const death: unknown = host.unexpectedExit.reason;
      throw death instanceof Error && !this.signal.aborted ? death : error;
    } finally {
      await host.stop();
    }
  }
}

const ZONES = ["zone-a", "zone-b", "zone-c"];

/** Servers with Valkey's own settings, but for the disk: nothing here is to be kept. */
export function hostPlan(name: string, mode: Mode, shape: Shape): HostDeploymentPlan {
  return { name, mode, shape, settings: { appendonly: false, save: "" }, zones: ZONES };
}

export interface DirectRun {
  readonly output: string;
  /** From its start to its end. */
  readonly seconds: number;
}

interface ByHandOptions {
  readonly run: RunDirectory;
  readonly signal: AbortSignal;
  /** For valkey-cli, which takes it from the environment. */
  readonly password?: string | undefined;
  /** @default 180 */
  readonly patienceSeconds?: number;
}

/**
 * Runs a program as a user would by hand; only that it is on the run's record.
 * @throws Failure when it fails or does not end; the signal's reason when told to stop
 */
export async function runDirectly(
  program: string,
  args: readonly string[],
  { run, signal, password, patienceSeconds = 180 }: ByHandOptions,
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
  const told = sleep(patienceSeconds * 1000, undefined, { signal: AbortSignal.any([signal, done.signal]) }).catch(
    () => undefined,
  );
  const exit = await Promise.race([ended, told]);
  const seconds = (performance.now() - began) / 1000;
  done.abort();
  if (exit === undefined) {
    const identity = identifyProcess(pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
    await ended;
    signal.throwIfAborted();
    throw new Failure(`${name} is still running after ${patienceSeconds} s and was ended${lastLines(output)}`);
  }
  if (exit.code !== 0) throw new Failure(`${name} failed with ${formatExit(exit)}${lastLines(output)}`);
  return { output, seconds };
}

function lastLines(output: string): string {
  const lines = output
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== "")
    .slice(-3);
  return lines.length === 0 ? "" : `; the last it said:\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

/** A B B A A B …: neither side always has what the other left behind. */
export function alternatingSides(pairs: number): ("ours" | "reference")[] {
  return Array.from({ length: pairs }).flatMap((_, pair) =>
    pair % 2 === 0 ? (["ours", "reference"] as const) : (["reference", "ours"] as const),
  );
}
