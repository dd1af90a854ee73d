/** The windows of a soak, one after the other: load on every deployment at once, then a look at every node and at the disk. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Deployment } from "../../valkey/deployment";
import { codeOf, Failure } from "../../lib/errors";
import type { RunDirectory } from "../../platforms/host/run-directory";
import { GeneratorProcess } from "../load/open-loop/generator-process";
import { endpointsPrimaryFirst, openLoopPlan } from "../load/open-loop/local-runner";
import type { OpenLoopPlan } from "../load/open-loop/plan";
import { Tally } from "../load/open-loop/tally";
import type { ReportProgress } from "../../lib/progress";
import { findSolePrimary } from "../../valkey/sentinel/form-sentinels";
import { formatBytes, formatDuration } from "../../lib/units";
import type { OpenLoopWorkload } from "../workloads/mixed-workload";
import type { SoakCheckpointLog, SoakWindow } from "./checkpoint-log";
import { windowsOf } from "./checkpoint-log";
import { sampleNodes } from "./node-sample";

export interface SoakContext {
  readonly run: RunDirectory;
  readonly deployments: readonly Deployment[];
  readonly mix: OpenLoopWorkload;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** Seconds of load that a soak has had. */
export function soakedSeconds(windows: readonly SoakWindow[]): number {
  const [first] = windows;
  return windows
    .filter(({ deployment }) => deployment === first?.deployment)
    .reduce((sum, { seconds }) => sum + seconds, 0);
}

/**
 * Goes on until the soak has lasted as long as its journal says it shall.
 * @throws Failure when a server cannot be reached or the servers' files outgrow their bound; the signal's reason
 */
export async function runSoak(journal: SoakCheckpointLog, soaking: SoakContext): Promise<void> {
  const { header } = journal;
  const { report, signal, deployments } = soaking;
  for (
    let left = header.seconds - soakedSeconds(windowsOf(journal));
    left > 0.5;
    left = header.seconds - soakedSeconds(windowsOf(journal))
  ) {
    signal.throwIfAborted();
    const seconds = Math.min(header.windowSeconds, left);
    // Another sequence of draws in each window, and the same for all deployments.
    const seed = (header.seed + windowsOf(journal).length) % 2 ** 31;
    const windows = await Promise.all(deployments.map((deployment) => window(deployment, seconds, seed, soaking)));
    for (const each of windows) journal.add(each);
    const diskBytes = windows.reduce((sum, each) => sum + each.diskBytes, 0);
    report(
      `${formatDuration(header.seconds - left + seconds)} of ${formatDuration(header.seconds)}: ${windows.map(lineOf).join("; ")}; files ${formatBytes(diskBytes)}`,
      true,
    );
    if (diskBytes > header.diskBytes)
      throw new Failure(
        `the servers' files take ${formatBytes(diskBytes)}, more than the ${formatBytes(header.diskBytes)} that --disk allows`,
      );
  }
}

async function window(
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
    return {
      kind: "window",
      deployment: deployment.name,
      at: new Date().toISOString(),
      seconds: Math.min(seconds, Math.max(0.001, (toMs - fromMs) / 1000)),
      offered,
      acknowledged,
      failed,
      unknown,
      latencies: tally.latencies().encode(),
      samples: await sampleNodes(deployment),
      diskBytes: sizeOf(join(run.path, deployment.name)),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", kill);
    await generator.kill();
  }
}

/** The primary first, whoever that is by now; a cluster has no first. */
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

function lineOf({ deployment, acknowledged, seconds, failed, unknown, samples }: SoakWindow): string {
  const resident = samples.reduce((sum, { residentBytes }) => sum + (residentBytes ?? 0), 0);
  return `${deployment} ${Math.round(acknowledged / seconds)}/s, ${formatBytes(resident)} resident${failed + unknown > 0 ? `, ${failed} failed and ${unknown} unanswered` : ""}`;
}

/** Bytes of all files below; what goes away meanwhile counts as nothing. */
function sizeOf(directory: string): number {
  try {
    return readdirSync(directory, { withFileTypes: true }).reduce(
      (sum, entry) =>
        sum + (entry.isDirectory() ? sizeOf(join(directory, entry.name)) : sizeOfFile(join(directory, entry.name))),
      0,
    );
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0;
    throw error;
  }
}

function sizeOfFile(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
