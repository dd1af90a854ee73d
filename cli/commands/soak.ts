/**
 * `npm start -- soak`: runs a stack of the platform `host` under a steady load for hours. Results are recorded in
 * windows of time, so a soak can be resumed.
 */
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join, resolve } from "node:path";
import { compact } from "../../lib/compact";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import type { Deployment } from "../../valkey/deployment";
import { Host } from "../../platforms/host/host";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import { availableCores } from "../../platforms/host/cpu";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import { renderSoak } from "../../benchmarks/report/soak-page";
import { shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { describeSoakFindings } from "../../benchmarks/soak/describe-findings";
import { soakFindings } from "../../benchmarks/soak/findings";
import type { SoakHeader, SoakCheckpointLog } from "../../benchmarks/soak/checkpoint-log";
import { soakCheckpointLogs, windowsOf } from "../../benchmarks/soak/checkpoint-log";
import { runSoak, soakedSeconds } from "../../benchmarks/soak/run-soak";
import { nodeCount } from "../../valkey/topology/placement";
import { formatDuration } from "../../lib/units";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import type { OpenLoopWorkload } from "../../benchmarks/workloads/mixed-workload";
import { adjustKeySpace } from "../../benchmarks/workloads/workload";
import { parseConfig } from "../../stacks/config/parse";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { hasCluster, hostPlans } from "../../stacks/plan/benchmark-plans";
import type { HostStackConfig } from "../../stacks/config/schema/stack";
import type { SoakOptions } from "../options/soak-options";
import { readStackFile } from "../../stacks/config/sections/stack-file";
import { runSteps } from "../terminal/steps";
import { COMMAND } from "../../lib/system/package";

/**
 * Runs or resumes a soak.
 * @returns the exit status: 0 if the soak lasted for the whole duration without problems, 1 if not
 * @throws BadInput, Failure, Interrupted. Finished windows are recorded before an error is thrown
 */
export async function soakStack(options: SoakOptions, interruption: AbortSignal): Promise<number> {
  const { stack } = options;
  const config = readConfig(stack);
  const { directory, checkpoints } = options.resume ? resume(options) : begin(options, config);
  const run = new SoakRun(stack, config, checkpoints, interruption);
  let reason: string | null = null;
  try {
    await runSteps([
      { title: "Start, form and verify", run: () => run.prepare() },
      {
        title: `Soak for ${formatDuration(checkpoints.header.seconds - soakedSeconds(windowsOf(checkpoints)))}`,
        run: (report) => run.soak(report),
      },
      { title: "Verify", run: () => run.verifyAgain() },
    ]);
  } catch (error) {
    reason = messageOf(interruption.aborted ? interruption.reason : error);
    throw interruption.aborted ? interruption.reason : error;
  } finally {
    try {
      await run.stop();
    } finally {
      checkpoints.close();
      run.troubled = report(directory, checkpoints, Object.keys(config.deployments), reason);
    }
    if (reason !== null)
      print(
        "",
        `Finished windows are kept. To continue: ${COMMAND} soak ${stack} --resume --output ${shortPath(directory)}`,
      );
  }
  return run.troubled ? 1 : 0;
}

/** Writes the report of a soak if at least one window is finished. @returns whether the report contains problems */
function report(
  directory: string,
  checkpoints: SoakCheckpointLog,
  deployments: readonly string[],
  reason: string | null,
): boolean {
  const windows = windowsOf(checkpoints);
  if (windows.length === 0) return false;
  const findings = deployments.map((name) => soakFindings(name, windows));
  const lines = compact([
    reason === null ? undefined : `Incomplete: ${reason}`,
    ...findings.flatMap(describeSoakFindings),
  ]);
  writeFileSync(join(directory, "summary.txt"), lines.map((line) => `${line}\n`).join(""));
  writeFileSync(
    join(directory, "soak.json"),
    `${JSON.stringify({ ...checkpoints.header, complete: reason === null, reason, findings }, null, 1)}\n`,
  );
  writeFileSync(join(directory, "soak.html"), renderSoak({ header: checkpoints.header, windows, findings, reason }));
  print("", ...lines, `Report: ${shortPath(join(directory, "soak.html"))}`);
  return findings.some(({ problems }) => problems.length > 0);
}

function readConfig(stack: string): HostStackConfig {
  const parsed = parseConfig(`stack ${stack}`, readStackFile(STACKS_DIRECTORY, stack), {
    cores: availableCores(),
    memoryBytes: totalmem(),
  });
  const { platform } = parsed;
  if (platform.type !== "host")
    throw BadInput.of(
      `stack ${stack}`,
      "other-platform",
      `its platform is ${platform.type}; soak works on stacks of the platform host`,
    );
  return { ...parsed, platform };
}

interface Begun {
  readonly directory: string;
  readonly checkpoints: SoakCheckpointLog;
}

function begin(
  { stack, output, seconds, windowSeconds, load, diskBytes }: SoakOptions,
  config: HostStackConfig,
): Begun {
  const timestamp = timestampOf(new Date());
  const directory = output === undefined ? resolve("results", `${timestamp}-soak`) : resolve(output);
  const header: SoakHeader = {
    kind: "soak",
    stack,
    timestamp,
    seconds,
    windowSeconds: Math.min(seconds, windowSeconds),
    rate: load.rate,
    reads: load.reads,
    keySpace: adjustKeySpace(load.keySpace, hasCluster(config)),
    bytes: load.bytes,
    seed: randomInt(1, 1_000_000_000),
    diskBytes,
  };
  return { directory, checkpoints: soakCheckpointLogs.create(directory, header) };
}

/** Finds the soak to resume. @throws BadInput when there is no such soak, or it belongs to a different stack */
function resume({ stack, output }: SoakOptions): Begun {
  const results = resolve("results");
  const directory =
    output === undefined ? soakCheckpointLogs.latest(results, (header) => header.stack === stack) : resolve(output);
  if (directory === undefined)
    throw BadInput.of(
      "--resume",
      "nothing-to-resume",
      `no soak of ${stack} is in ${shortPath(results)}; start a soak without --resume, or name the directory of a soak with --output`,
    );
  const checkpoints = soakCheckpointLogs.resume(directory);
  if (checkpoints.header.stack === stack) return { directory, checkpoints };
  checkpoints.close();
  throw BadInput.of(
    `--resume of ${shortPath(directory)}`,
    "other-soak",
    `it is a soak of the stack ${checkpoints.header.stack}, not of ${stack}`,
  );
}

class SoakRun {
  troubled = false;
  #host: Host | undefined;
  #deployments: Deployment[] = [];

  constructor(
    private readonly stack: string,
    private readonly config: HostStackConfig,
    private readonly checkpoints: SoakCheckpointLog,
    private readonly interruption: AbortSignal,
  ) {}

  /** Continues with the servers of a killed soak if all of them run; otherwise starts new servers. */
  async prepare(): Promise<string> {
    await stopAbandonedRuns(...allRunsDirectories());
    const programs = await findPrograms(packagesDirectory(), () => undefined, this.interruption);
    const plans = hostPlans(this.config.platform, this.config);
    const before = this.checkpoints.entries.filter((entry) => entry.kind === "servers").at(-1);
    if (before !== undefined && existsSync(before.run)) {
      if (await this.#adopt(new Host(RunDirectory.open(before.run), programs), plans))
        return "Continue with the servers that a killed soak left behind";
      await stopRun(before.run);
    }
    const run = RunDirectory.create(runsDirectory(), this.stack);
    // If this process is killed, its servers keep running, so that the soak can be resumed with them.
    run.keep();
    this.checkpoints.add({ kind: "servers", run: run.path, version: programs.version, at: new Date().toISOString() });
    const host = new Host(run, programs);
    this.#host = host;
    this.#deployments = await Promise.all(
      plans.map(async (plan) => {
        const deployment = await host.start(plan, this.interruption);
        await host.form(deployment, plan.shape, { signal: this.interruption });
        return deployment;
      }),
    );
    await this.#verify();
    return `Started, formed and verified ${plans.map(({ name }) => name).join(" and ")} with Valkey ${programs.version}`;
  }

  /**
   * Continues the deployments of a killed soak.
   * @returns whether all servers of the plans run. The result is false if a password file is missing, because the soak
   *   was then killed before it had started all servers
   */
  async #adopt(host: Host, plans: readonly HostDeploymentPlan[]): Promise<boolean> {
    this.#host = host;
    if (!plans.every(({ name }) => existsSync(host.passwordFile(name)))) return false;
    this.#deployments = await Promise.all(
      plans.map((plan) => host.adopt({ ...plan, password: readFileSync(host.passwordFile(plan.name), "utf8") })),
    );
    if (!plans.every(({ shape }, index) => this.#deployments[index]?.nodes.length === nodeCount(shape))) return false;
    await this.#verify();
    return true;
  }

  async soak(report: (line: string, passing?: boolean) => void): Promise<string> {
    const host = this.#running();
    const { rate, reads, keySpace, bytes, seconds } = this.checkpoints.header;
    const mix: OpenLoopWorkload = {
      name: "soak",
      loadGenerator: "open-loop",
      data: "strings",
      reads,
      keySpace,
      clients: 12,
      pipeline: 1,
      length: { seconds: 1 },
      warmup: 0,
      rate,
      arrivals: "poisson",
      keys: { distribution: "uniform" },
      values: { sizes: "fixed", bytes },
      readFrom: "primary",
      workers: 1,
      timeoutMs: 5000,
      queue: 100_000,
    };
    await runSoak(this.checkpoints, {
      run: host.run,
      deployments: this.#deployments,
      mix,
      report,
      signal: AbortSignal.any([this.interruption, host.unexpectedExit]),
    });
    return `Sent the load for ${formatDuration(seconds)} in ${windowsOf(this.checkpoints).length} windows`;
  }

  async verifyAgain(): Promise<string> {
    await this.#verify();
    return "Verified";
  }

  async stop(): Promise<void> {
    if (this.#host !== undefined && existsSync(this.#host.run.path)) await stopRun(this.#host.run.path);
  }

  #running(): Host {
    if (this.#host === undefined) throw new Error("the servers have not been prepared");
    return this.#host;
  }

  async #verify(): Promise<void> {
    const verdicts = await Promise.all(this.#deployments.map(async (deployment) => (await verify(deployment)).verdict));
    const failed = verdicts.filter(({ pass }) => !pass);
    if (failed.length > 0) throw new Failure(failed.map((verdict) => verdictLine(verdict)).join("; "));
  }
}
