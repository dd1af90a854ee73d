/** In each window, all deployments receive load; after it, every node and the disk are sampled. */
import { join } from "node:path";
import type { Deployment } from "../../valkey/deployment";
import { Failure, codeOf } from "../../lib/errors";
import type { RunDirectory } from "../../platforms/host/run-directory";
import { GeneratorProcess } from "../load/open-loop/generator-process";
import { endpointsPrimaryFirst, openLoopPlan } from "../load/open-loop/local-driver";
import type { OpenLoopPlan } from "../load/open-loop/plan";
import { Tally } from "../load/tally";
import type { ReportProgress } from "../../lib/progress";
import { findSolePrimary } from "../../valkey/membership/replication-primary";
import { formatBytes, formatDuration } from "../../lib/units";
import type { OpenLoopWorkload } from "../workloads/mixed-workload";
import { type SoakCheckpointLog, type SoakWindow, windowsOf } from "./checkpoint-log";
import { sampleNodes } from "./node-sample";
import { readdirSync, statSync } from "node:fs";

interface SoakContext {
  readonly run: RunDirectory;
  readonly deployments: readonly Deployment[];
  readonly mix: OpenLoopWorkload;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** Windows do not end exactly on time, so no window is started for less than this. */
const MIN_WINDOW_SECONDS = 0.5;

export function soakedSeconds(windows: readonly SoakWindow[]): number {
  const [first] = windows;
  const ofOne = windows.filter(({ deployment }) => deployment === first?.deployment);
  return ofOne.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** @throws Failure when a server cannot be reached or the servers' files exceed their limit; the signal's reason */
export async function runSoak(log: SoakCheckpointLog, context: SoakContext): Promise<void> {
  const { header } = log;
  const { report, signal, deployments } = context;
  const remainingSeconds = (): number => header.seconds - soakedSeconds(windowsOf(log));
  for (let remaining = remainingSeconds(); remaining > MIN_WINDOW_SECONDS; remaining = remainingSeconds()) {
    signal.throwIfAborted();
    const seconds = Math.min(header.windowSeconds, remaining);
    // Each window has a different seed. In one window, all deployments get the same seed.
    const seed = (header.seed + windowsOf(log).length) % 2 ** 31;
    const windows = await Promise.all(deployments.map((deployment) => runWindow(deployment, seconds, seed, context)));
    for (const window of windows) log.add(window);
    const diskBytes = windows.reduce((sum, window) => sum + window.diskBytes, 0);
    const elapsed = formatDuration(header.seconds - remaining + seconds);
    const progress = `${elapsed} of ${formatDuration(header.seconds)}`;
    report(`${progress}: ${windows.map(describeWindow).join("; ")}; files ${formatBytes(diskBytes)}`, true);
    if (diskBytes > header.diskBytes)
      throw new Failure(
        `the servers' files take ${formatBytes(diskBytes)}, more than --max-disk ${formatBytes(header.diskBytes)} allows`,
      );
  }
}

async function runWindow(
  deployment: Deployment,
  seconds: number,
  seed: number,
  { run, mix, signal }: SoakContext,
): Promise<SoakWindow> {
  const plan = await planFor(deployment, { ...mix, length: { seconds } }, seed);
  const generator = await GeneratorProcess.start(run, plan);
  const kill = (): void => {
    void generator.kill();
  };
  signal.addEventListener("abort", kill);
  try {
    const tally = Tally.merge(await generator.run());
    const { offered, acknowledged, failures: failed, unknowns: unknown, fromMs, toMs } = tally;
    const loadSeconds = Math.max(0.001, (toMs - fromMs) / 1000);
    return {
      kind: "window",
      deployment: deployment.name,
      at: new Date().toISOString(),
      seconds: Math.min(seconds, loadSeconds),
      offered,
      acknowledged,
      failed,
      unknown,
      latencies: tally.latencies().encode(),
      samples: await sampleNodes(deployment),
      diskBytes: directorySize(join(run.path, deployment.name)),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", kill);
    await generator.kill();
  }
}

async function planFor(deployment: Deployment, mix: OpenLoopWorkload, seed: number): Promise<OpenLoopPlan> {
  const {
    mode,
    access: { username = "default", password },
  } = deployment;
  const primary = mode === "replication" ? (await findSolePrimary(deployment)).name : "";
  return openLoopPlan(
    { mix, primary, seed, credentials: password === undefined ? undefined : { username, password } },
    deployment,
    endpointsPrimaryFirst(deployment, primary),
  );
}

function describeWindow({ deployment, acknowledged, seconds, failed, unknown, samples }: SoakWindow): string {
  const residentBytes = samples.reduce((sum, sample) => sum + (sample.residentBytes ?? 0), 0);
  const errors = failed + unknown > 0 ? `, ${failed} requests failed and ${unknown} got no reply` : "";
  return `${deployment} ${Math.round(acknowledged / seconds)}/s, ${formatBytes(residentBytes)} resident${errors}`;
}

function directorySize(directory: string): number {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.reduce((sum, entry) => {
      const path = join(directory, entry.name);
      return sum + (entry.isDirectory() ? directorySize(path) : fileSize(path));
    }, 0);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0;
    throw error;
  }
}

function fileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
