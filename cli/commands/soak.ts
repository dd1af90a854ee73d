import { randomInt } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compact } from "../../lib/compact";
import { type Problem, BadInput, Failure, problem } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import type { Deployment } from "../../valkey/deployment";
import { Host } from "../../platforms/host/host";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { RunDirectory, stopRun } from "../../platforms/host/run-directory";
import { renderSoak } from "../../benchmarks/report/soak-page";
import { shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { describeSoakFindings, soakFindings } from "../../benchmarks/soak/findings";
import type { SoakHeader, SoakCheckpointLog } from "../../benchmarks/soak/checkpoint-log";
import { soakCheckpointLogs, windowsOf } from "../../benchmarks/soak/checkpoint-log";
import { runSoak, soakedSeconds } from "../../benchmarks/soak/run-soak";
import { nodeCount } from "../../valkey/topology/placement";
import { formatDuration, parseDuration, parseSize } from "../../lib/units";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import type { OpenLoopWorkload } from "../../benchmarks/workloads/mixed-workload";
import { adjustKeySpace } from "../../benchmarks/workloads/workload";
import { print } from "../terminal/terminal";
import { hasCluster, hostPlans } from "../../stacks/plan/benchmark-plans";
import type { HostStackConfig } from "../../stacks/config/schema/stack";
import { type OptionValues, optionName, textOption, wrongValue } from "../running/options";
import { findServerPrograms, LocalServers } from "../running/local-servers";
import { resumeLog } from "../running/resume";
import { runToEnd } from "../running/run-to-end";
import { readStack, requireHost } from "../running/stack-config";
import { runSteps } from "../terminal/steps";
import { COMMAND } from "../../lib/system/package";

interface SoakOptions {
  readonly seconds: number;
  readonly windowSeconds: number;
  /** Offered requests per second, fraction of reads, number of distinct keys, bytes per value. */
  readonly load: Pick<SoakHeader, "rate" | "reads" | "keySpace" | "bytes">;
  readonly diskBytes: number;
  readonly resume: boolean;
  readonly output: string | undefined;
}

/** This number limits the size of the record, regardless of the duration. */
const MAX_WINDOWS = 1000;
/** A shorter window would have too few requests for tail latencies. */
const MIN_WINDOW_SECONDS = 10;

/** `cli/program.ts` names the same defaults. */
const DEFAULT_SECONDS = 2 * 3600;
const DEFAULT_RATE = 1000;
const DEFAULT_READS = 0.5;
const DEFAULT_KEYS = 100_000;
const DEFAULT_VALUE_BYTES = 256;
const DEFAULT_DISK_BYTES = 10 * 1024 ** 3;
const MAX_VALUE_BYTES = 512 * 1024 * 1024;

/** Options that cannot change when a soak is resumed, by commander's names. */
const FIXED_AT_START: readonly string[] = ["duration", "window", "rate", "reads", "keyspaceLen", "datasize", "maxDisk"];

export function soakOptions(values: OptionValues): SoakOptions {
  const problems: Problem[] = [];
  const read = (
    name: string,
    parse: (value: unknown) => number | undefined,
    fallback: number,
    expected: string,
  ): number => {
    const value = values[name];
    const parsed = value === undefined ? fallback : parse(value);
    if (parsed === undefined) problems.push(wrongValue(optionName(name), value, expected));
    return parsed ?? fallback;
  };
  const seconds = read("duration", parseDuration, DEFAULT_SECONDS, "a duration such as 90s, 30m or 2h");
  const shortest = Math.max(MIN_WINDOW_SECONDS, seconds / MAX_WINDOWS);
  const windowSeconds = read("window", parseDuration, shortest, "a duration such as 10s");
  if (seconds / windowSeconds > MAX_WINDOWS) {
    const count = Math.ceil(seconds / windowSeconds);
    const least = Math.ceil(seconds / MAX_WINDOWS);
    const message = `${count} windows of ${windowSeconds} s; at most ${MAX_WINDOWS} are allowed, so a window must last at least ${least} s`;
    problems.push(problem("too-many-windows", "--window", message));
  }
  const load = {
    rate: read("rate", whole(1_000_000), DEFAULT_RATE, "a number from 1 to 1000000"),
    reads: read("reads", fraction, DEFAULT_READS, "a part from 0 to 1"),
    keySpace: read("keyspaceLen", whole(1_000_000_000), DEFAULT_KEYS, "a number from 1 to 1000000000"),
    bytes: read(
      "datasize",
      whole(MAX_VALUE_BYTES),
      DEFAULT_VALUE_BYTES,
      `a number of bytes from 1 to ${MAX_VALUE_BYTES}`,
    ),
  };
  const resume = values["resume"] === true;
  const why = " cannot change when a soak is resumed; leave it out, or begin a new soak without --resume";
  const fixed = resume ? Object.keys(values).filter((name) => FIXED_AT_START.includes(name)) : [];
  problems.push(...fixed.map((name) => problem("fixed-at-start", optionName(name), why)));
  const size = (value: unknown): number | undefined => parseSize(String(value));
  const diskBytes = read("maxDisk", size, DEFAULT_DISK_BYTES, "a size such as 20gb");
  if (problems.length > 0) throw new BadInput(`${COMMAND} soak`, problems);
  return { seconds, windowSeconds, load, diskBytes, resume, output: textOption(values["output"]) };
}

function whole(most: number): (value: unknown) => number | undefined {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most ? value : undefined;
}

function fraction(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}

export async function soakStack(stack: string, values: OptionValues, interruption: AbortSignal): Promise<number> {
  const options = soakOptions(values);
  const config = requireHost(stack, readStack(stack), "; soak works on stacks of the platform host");
  const { directory, checkpoints } = options.resume ? resume(stack, options.output) : begin(stack, options, config);
  const servers = new LocalServers(interruption);
  const run = new SoakRun(stack, config, checkpoints, servers);
  return runToEnd({
    execute: async () => {
      await runSteps([
        { title: "Start, form and verify", run: () => run.prepare() },
        {
          title: `Soak for ${formatDuration(checkpoints.header.seconds - soakedSeconds(windowsOf(checkpoints)))}`,
          run: (report) => run.soak(report),
        },
        {
          title: "Verify",
          run: async () => {
            await run.verify();
            return "Verified";
          },
        },
      ]);
      return null;
    },
    causeOf: (error): unknown => (interruption.aborted ? interruption.reason : error),
    stop: async () => {
      const path = servers.openHost?.run.path;
      if (path !== undefined && existsSync(path)) await stopRun(path);
    },
    finish: (reason) => {
      try {
        const hasProblems = writeReport(directory, checkpoints, Object.keys(config.deployments), reason);
        if (reason !== null)
          print(
            "",
            `Finished windows are kept. To continue: ${COMMAND} soak ${stack} --resume --output ${shortPath(directory)}`,
          );
        return hasProblems ? 1 : 0;
      } finally {
        // Until then, no other command may use the directory.
        checkpoints.close();
      }
    },
  });
}

function writeReport(
  directory: string,
  { header, entries }: SoakCheckpointLog,
  deployments: readonly string[],
  reason: string | null,
): boolean {
  const windows = windowsOf({ entries });
  if (windows.length === 0) return false;
  const findings = deployments.map((name) => soakFindings(name, windows));
  const lines = compact([
    reason === null ? undefined : `Incomplete: ${reason}`,
    ...findings.flatMap(describeSoakFindings),
  ]);
  const write = (name: string, text: string): void => {
    writeFileSync(join(directory, name), text);
  };
  write("summary.txt", lines.map((line) => `${line}\n`).join(""));
  write("soak.json", `${JSON.stringify({ ...header, complete: reason === null, reason, findings }, null, 1)}\n`);
  write("soak.html", renderSoak({ header, windows, findings, reason }));
  print("", ...lines, `Report: ${shortPath(join(directory, "soak.html"))}`);
  return findings.some(({ problems }) => problems.length > 0);
}

interface Begun {
  readonly directory: string;
  readonly checkpoints: SoakCheckpointLog;
}

function begin(
  stack: string,
  { output, seconds, windowSeconds, load, diskBytes }: SoakOptions,
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

function resume(stack: string, output: string | undefined): Begun {
  return resumeLog({
    logs: soakCheckpointLogs,
    output,
    isSame: (header) => header.stack === stack,
    missing: {
      what: `soak of ${stack}`,
      remedy: "start a soak without --resume, or name the directory of a soak with --output",
    },
    differences: (header) =>
      header.stack === stack ? [] : [`it is a soak of the stack ${header.stack}, not of ${stack}`],
    code: "other-soak",
  });
}

class SoakRun {
  #deployments: Deployment[] = [];

  constructor(
    private readonly stack: string,
    private readonly config: HostStackConfig,
    private readonly checkpoints: SoakCheckpointLog,
    private readonly servers: LocalServers,
  ) {}

  /** Continues with the servers of a killed soak if all of them run; otherwise starts new servers. */
  async prepare(): Promise<string> {
    const signal = this.servers.interruption;
    const programs = await findServerPrograms(signal);
    const plans = hostPlans(this.config.platform, this.config);
    const before = this.checkpoints.entries.filter((entry) => entry.kind === "servers").at(-1);
    if (before !== undefined && existsSync(before.run)) {
      if (await this.#adopt(this.servers.adopt(new Host(RunDirectory.open(before.run), programs)), plans))
        return "Continue with the servers that a killed soak left behind";
      await stopRun(before.run);
    }
    const host = this.servers.create(this.stack, programs);
    // If this process is killed, its servers keep running, so that the soak can be resumed with them.
    host.run.keep();
    const { version } = programs;
    this.checkpoints.add({ kind: "servers", run: host.run.path, version, at: new Date().toISOString() });
    this.#deployments = await Promise.all(
      plans.map(async (plan) => {
        const deployment = await host.start(plan, signal);
        await host.form(deployment, plan.shape, { signal });
        return deployment;
      }),
    );
    await this.verify();
    return `Started, formed and verified ${plans.map(({ name }) => name).join(" and ")} with Valkey ${version}`;
  }

  /** @returns false also if a password file is missing: the soak was killed before it had started all servers */
  async #adopt(host: Host, plans: readonly HostDeploymentPlan[]): Promise<boolean> {
    if (!plans.every(({ name }) => existsSync(host.passwordFile(name)))) return false;
    this.#deployments = await Promise.all(
      plans.map((plan) => host.adopt({ ...plan, password: readFileSync(host.passwordFile(plan.name), "utf8") })),
    );
    if (!plans.every(({ shape }, index) => this.#deployments[index]?.nodes.length === nodeCount(shape))) return false;
    await this.verify();
    return true;
  }

  async soak(report: ReportProgress): Promise<string> {
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
    const { run } = this.servers.host;
    const { signal } = this.servers;
    await runSoak(this.checkpoints, { run, deployments: this.#deployments, mix, report, signal });
    return `Sent the load for ${formatDuration(seconds)} in ${windowsOf(this.checkpoints).length} windows`;
  }

  async verify(): Promise<void> {
    const verdicts = await Promise.all(this.#deployments.map(async (deployment) => (await verify(deployment)).verdict));
    const failed = verdicts.filter(({ pass }) => !pass);
    if (failed.length > 0) throw new Failure(failed.map((verdict) => verdictLine(verdict)).join("; "));
  }
}
