/**
 * The program on a real Pulumi engine, where its CLI is found: a copy of the project, with a stack file and a state of
 * its own.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Stack, LocalWorkspace } from "@pulumi/pulumi/automation";
import { stringify } from "yaml";
import { runningProcesses, RunDirectory, stopRun } from "../../../platforms/host/run-directory";
import { awaitCondition } from "../../../lib/polling";
import { copyCheckout } from "../checkout";

/** The PATH by which the CLI is found: installed, or else the npm package's, which fetches it on first use. */
function findEngine(): string | undefined {
  const all = process.env["PATH"] ?? "";
  const installed = all
    .split(delimiter)
    .filter((entry) => !entry.includes("node_modules"))
    .join(delimiter);
  return [installed, all].find((path) => {
    try {
      execFileSync("pulumi", ["version"], { stdio: "ignore", timeout: 120_000, env: { ...process.env, PATH: path } });
      return true;
    } catch {
      return false;
    }
  });
}

let found: { readonly path: string | undefined } | undefined;

/** Where the CLI is found; looked for once, which may mean that it is fetched. */
export function pulumiPath(): string | undefined {
  found ??= { path: findEngine() };
  return found.path;
}

export function pulumiSkipNote(): string {
  return pulumiPath() === undefined ? " (skipped: no pulumi to be had)" : "";
}

const STACK = "trial";

export class PulumiStack {
  readonly log: string[] = [];
  #encryption = "";

  private constructor(
    readonly directory: string,
    readonly stack: Stack,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  /** @param config the stack file's `valkey:` keys */
  static async open(
    config: Readonly<Record<string, unknown>>,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<PulumiStack> {
    const directory = mkdtempSync(join(tmpdir(), "engine-"));
    copyCheckout(directory);
    mkdirSync(join(directory, ".state"));
    writeFileSync(fileIn(directory), textOf(config));
    process.env["PATH"] = pulumiPath();
    const environment = {
      PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
      PULUMI_CONFIG_PASSPHRASE: "trial",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      VALKEY_MEASURED_CACHE: join(directory, "cache"),
      ...variables,
    };
    const opened = new PulumiStack(
      directory,
      await LocalWorkspace.createOrSelectStack({ stackName: STACK, workDir: directory }, { envVars: environment }),
      environment,
    );
    opened.#encryption = /^encryptionsalt: .*\n/m.exec(readFileSync(fileIn(directory), "utf8"))?.[0] ?? "";
    return opened;
  }

  readonly onOutput = (text: string): void => {
    this.log.push(text);
  };

  configure(config: Readonly<Record<string, unknown>>): void {
    writeFileSync(fileIn(this.directory), this.#encryption + textOf(config));
  }

  state(): string {
    return readFileSync(join(this.directory, ".state", ".pulumi", "stacks", "valkey", `${STACK}.json`), "utf8");
  }

  /** @returns by outcome, such as `{ same: 10 }` */
  async up(options: { readonly expectNoChanges?: boolean } = {}): Promise<Record<string, number>> {
    const { summary } = await this.stack.up({ onOutput: this.onOutput, ...options });
    return summary.resourceChanges ?? {};
  }

  /**
   * Begins `pulumi up` and signals the engine as soon as it has printed something.
   * @returns once it and all that it started have ended
   */
  async interruptedUp(at: RegExp, signal: NodeJS.Signals): Promise<string> {
    // A group of its own, so that what a killed engine leaves is found.
    const child = spawn("pulumi", ["up", "--yes", "--skip-preview", "--non-interactive", "--stack", STACK], {
      cwd: this.directory,
      env: { ...process.env, ...this.environment },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const sent = { signal: false };
    const hear = (chunk: Buffer): void => {
      output += chunk.toString();
      if (sent.signal || !at.test(output)) return;
      sent.signal = child.kill(signal);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    await new Promise((resolve) => child.once("close", resolve));
    await groupEnded(child);
    if (!sent.signal) throw new Error(`pulumi up ended before it printed ${String(at)}:\n${output}`);
    this.log.push(output);
    return output;
  }

  runs(): ReturnType<typeof RunDirectory.list> {
    return RunDirectory.list(join(this.directory, "cache", "runs"));
  }

  living(): number {
    return this.runs().reduce((sum, run) => sum + runningProcesses(run.path).length, 0);
  }

  async close(): Promise<void> {
    for (const run of this.runs()) await stopRun(run.path);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const fileIn = (directory: string): string => join(directory, "stacks", `Pulumi.${STACK}.yaml`);

function textOf(config: Readonly<Record<string, unknown>>): string {
  return stringify({
    config: Object.fromEntries(Object.entries(config).map(([key, value]) => [`valkey:${key}`, value])),
  });
}

/** Waits until the engine's plugins have ended, which they do by themselves after the engine. */
function groupEnded({ pid }: ChildProcess): Promise<void> {
  const hasEnded = (): boolean => {
    try {
      process.kill(-(pid ?? 0), 0);
      return false;
    } catch {
      return true;
    }
  };
  return awaitCondition("pulumi's plugins have ended", hasEnded, { timeoutMs: 60_000, intervalMs: 100 });
}
