/** The command `archive`, which is started again each time it ends, as a service manager does. */
import { setTimeout as sleep } from "node:timers/promises";
import { awaitCondition } from "../../../../lib/polling";
import type { Deployment } from "../../../../valkey/deployment";
import type { DeploymentNode } from "../../../../valkey/node";
import { CREDENTIALS } from "../../../support/valkey/s3-server";
import type { Command } from "../../../support/command";
import type { Place } from "../../../support/command";

/** Time until the command is started again, milliseconds. */
const RESTART_MS = 500;
/** Longest wait until the archive has what was written, milliseconds. */
const CURRENT_MS = 180_000;
/** An RPO with which the archive has caught up, although the machine is busy, seconds. */
const SMALL_RPO = 5;

export class ArchiveService {
  #command: Command | undefined;
  #stopped = new AbortController();
  #running: Promise<void> | undefined;
  /** Output of the commands that have ended. */
  #ended = "";

  /** @param nodes the nodes of the deployment when a command is started */
  constructor(
    private readonly place: Place,
    private readonly deployment: Deployment,
    private readonly nodes: () => readonly DeploymentNode[],
    private readonly into: readonly string[],
  ) {}

  start(): void {
    this.#stopped = new AbortController();
    this.#running = this.#run();
  }

  /** Kills the command. It starts again. */
  kill(): void {
    this.#command?.child.kill("SIGKILL");
    // What it has printed says nothing about the next command.
    this.#ended += this.#command?.output ?? "";
    this.#command = undefined;
  }

  /** Kills the command for good. */
  async end(): Promise<void> {
    this.#stopped.abort();
    this.kill();
    await this.#running;
  }

  /** Output of all commands. */
  get output(): string {
    return this.#ended + (this.#command?.output ?? "");
  }

  /** Addresses of the nodes that are followed, as `HOST:PORT`, by shard. */
  get followed(): ReadonlyMap<string, string> {
    const lines = [...(this.#command?.output ?? "").matchAll(/(shard-\d+): following (\S+)/g)];
    return new Map(lines.map(([, shard = "", node = ""]) => [shard, node]));
  }

  /** Number of new periods so far. */
  get periods(): number {
    return this.output.match(/ new period /g)?.length ?? 0;
  }

  /** Waits until the present command has a base of each shard. */
  async hasBases(signal: AbortSignal): Promise<void> {
    await awaitCondition("every shard has a base", () => Promise.resolve(this.#afterBases() !== ""), {
      timeoutMs: CURRENT_MS,
      signal,
    });
  }

  /**
   * Waits until the present command has a base of each shard, and has then said after this call that its RPO is small.
   * @param periods number of periods that must have begun
   */
  async isCurrent(periods: number, signal: AbortSignal): Promise<void> {
    const said = this.#saidRpos;
    const isCurrent = (): Promise<boolean> =>
      Promise.resolve(this.periods >= periods && this.#saidRpos > said && this.rpo <= SMALL_RPO);
    await awaitCondition("every shard has a base, and the RPO is small", isCurrent, {
      timeoutMs: CURRENT_MS,
      signal,
    });
  }

  get #saidRpos(): number {
    return this.output.match(/ RPO \d/g)?.length ?? 0;
  }

  /** The RPO that the present command has said last, seconds. NaN before it has a base of each shard. */
  get rpo(): number {
    return Number([...this.#afterBases().matchAll(/ RPO (\d+\.\d+) s;/g)].at(-1)?.[1] ?? NaN);
  }

  /** Output of the present command after its last period has a base of each shard. Empty before. */
  #afterBases(): string {
    const output = this.#command?.output ?? "";
    const period = output.slice(Math.max(output.lastIndexOf("new period"), output.lastIndexOf("continued period"), 0));
    const count = Number(/period \S+ with (\d+) shards?/.exec(period)?.[1] ?? NaN);
    const ready = [...period.matchAll(/(shard-\d+): (?:base with|the stream goes on where the archive ended)/g)];
    const isComplete = new Set(ready.map(([, shard]) => shard)).size === count;
    return isComplete ? period.slice(ready.at(-1)?.index) : "";
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    // TypeScript would assume that the flag of the signal cannot change during an await.
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      const servers = this.nodes().flatMap(({ endpoint: { host, port }, zone = "a" }) => [
        "--node",
        `${host}:${port}=${zone}`,
      ]);
      const args = ["archive", "--mode", this.deployment.mode, ...servers, "--into", ...this.into];
      const command = await this.place.start(args, {
        ...CREDENTIALS,
        VALKEY_PASSWORD: this.deployment.access.password,
      });
      this.#command = command;
      if (isOver()) this.kill();
      await command.ended;
      if (this.#command === command) this.kill();
      if (!isOver()) await sleep(RESTART_MS);
    }
  }
}
