/** The command line as a user has it: a process of its own, its output, its exit status. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runningProcesses, RunDirectory, stopRun } from "../../platforms/host/run-directory";
import { ROOT } from "../../lib/system/package";
import { type Results, resultsSchema } from "../../benchmarks/results/schema";
import { commandLine } from "../../cli/cli";
import { compiledProgram } from "../runner/compile-programs";
import { type Ended, captured } from "./captured";
import { never, valkeyHome } from "./valkey/real";

export class Command {
  output = "";
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly child: ChildProcess,
    readonly ended: Promise<Ended>,
  ) {}

  add(chunk: string): void {
    this.output += chunk;
    for (const look of this.#waiting) look();
  }

  /** @throws Error when the command ends before it has printed that */
  async printed(pattern: RegExp): Promise<void> {
    if (pattern.test(this.output)) return;
    const seen = new Promise<true>((resolve) => {
      const look = (): void => {
        if (!pattern.test(this.output)) return;
        this.#waiting.delete(look);
        resolve(true);
      };
      this.#waiting.add(look);
    });
    const found = await Promise.race([seen, this.ended.then(() => pattern.test(this.output))]);
    if (!found) throw new Error(`it ended without printing ${pattern.source}:\n${this.output}`);
  }
}

/** A user's place: a cache and a results directory of its own, so that tests see exactly their own runs. */
export class Place {
  #directory: string | undefined;

  get directory(): string {
    this.#directory ??= mkdtempSync(join(tmpdir(), "valkey-place-"));
    return this.#directory;
  }

  get runs(): string {
    return join(this.directory, "runs");
  }

  output(name = "out"): string {
    return join(this.directory, name);
  }

  async start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Command> {
    const env = { ...process.env, ...(await this.#environment()), ...environment };
    const child = spawn(process.execPath, [compiledProgram("cli/main.ts"), ...args], {
      cwd: ROOT,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise<Ended>((resolve) => {
      child.once("close", (status, signal) => {
        resolve({ status: status ?? (signal === "SIGKILL" ? 137 : 255), output: command.output });
      });
    });
    const command: Command = new Command(child, ended);
    child.stdout.on("data", (chunk: Buffer) => {
      command.add(chunk.toString());
    });
    child.stderr.on("data", (chunk: Buffer) => {
      command.add(chunk.toString());
    });
    return command;
  }

  async run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return (await this.start(args, environment)).ended;
  }

  /** The same within this process: for bad input, and for what starts no servers of its own. */
  async call(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return captured({ ...(await this.#environment()), ...environment }, () => commandLine(args, never));
  }

  async #environment(): Promise<NodeJS.ProcessEnv> {
    return { VALKEY_HOME: await valkeyHome(), VALKEY_MEASURED_CACHE: this.directory };
  }

  living(): number[] {
    return RunDirectory.list(this.runs).flatMap(({ path }) => runningProcesses(path).map(({ pid }) => pid));
  }

  async close(): Promise<void> {
    for (const { path } of RunDirectory.list(this.runs)) await stopRun(path);
    rmSync(this.directory, { recursive: true, force: true });
    this.#directory = undefined;
  }
}

export const ARTIFACTS = ["raw.txt", "report.html", "results.csv", "results.json", "results.om", "summary.txt"];

export const resultsIn = (directory: string): Results =>
  resultsSchema.parse(JSON.parse(readFileSync(join(directory, "results.json"), "utf8")));

/** The stack `local` with the least work that goes through every step. */
export const SHORT = "--tests get --requests 20000 --keyspace-len 16384 --warmup 0 --repeats 1".split(" ");

export const TIMED = "--tests get --duration 1 --keyspace-len 16384 --warmup 0 --repeats 1".split(" ");
