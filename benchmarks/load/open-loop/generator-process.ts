/** The generator as a process on this machine. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Failure, messageOf } from "../../../lib/errors";
import { identifyProcess, signalProcess } from "../../../lib/process-identity";
import type { RecordedProcess } from "../../../platforms/host/processes";
import { formatExit, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { generatorBundle } from "./bundle";
import type { OpenLoopPlan, ProcessMessage } from "./plan";
import { START_COMMAND, processMessageSchema, STOP_COMMAND } from "./plan";
import { Tally } from "./tally";

export class GeneratorProcess {
  #waiting: { readonly resolve: (said: ProcessMessage) => void; readonly reject: (error: Error) => void } | undefined;
  #said: ProcessMessage[] = [];
  #errors = "";
  #ended: Error | undefined;

  private constructor(private readonly recorded: RecordedProcess) {
    const { child, ended } = recorded;
    // A busy machine tells of its end before the last of what it said has been read.
    const silent = new Promise<void>((resolve) => {
      if (child.stdout === null) resolve();
      else
        createInterface({ input: child.stdout })
          .on("line", (line) => {
            this.#hear(line);
          })
          .once("close", resolve);
    });
    child.stderr?.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    // A process that is gone is noticed by its end, and not by what cannot be told to it.
    child.stdin?.on("error", () => undefined);
    void Promise.all([ended, silent]).then(([exit]) => {
      this.#end(
        new Failure(
          `the generator ended with ${formatExit(exit)}${this.#errors.trim() === "" ? "" : `: ${this.#errors.trim().split("\n").at(-1) ?? ""}`}`,
        ),
      );
    });
  }

  /**
   * Starts it and waits until all its connections are there.
   * @throws Failure when a server cannot be reached, or the process ends
   */
  static async start(run: RunDirectory, plan: OpenLoopPlan): Promise<GeneratorProcess> {
    const file = join(run.path, "open-loop.cjs");
    writeFileSync(file, await generatorBundle());
    const started = new GeneratorProcess(
      startRecorded(run, "open-loop", process.execPath, [file], { stdio: ["pipe", "pipe", "pipe"] }),
    );
    try {
      started.#tell(JSON.stringify(plan));
      await started.#next("ready");
      return started;
    } catch (error) {
      await started.kill();
      throw error;
    }
  }

  get pid(): number {
    return this.recorded.pid;
  }

  /** What came of it, a tally of each worker, when it is done. @throws Failure when it ends without saying so */
  async run(): Promise<Tally[]> {
    this.#tell(START_COMMAND);
    const { tallies } = await this.#next("result");
    await this.recorded.ended;
    return tallies.map((data) => Tally.ofData(data));
  }

  /** Ends the offering early; `run` then says what came of what was offered. */
  stop(): void {
    this.#tell(STOP_COMMAND);
  }

  async kill(): Promise<void> {
    const identity = identifyProcess(this.pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
    await this.recorded.ended;
  }

  #tell(line: string): void {
    this.recorded.child.stdin?.write(`${line}\n`);
  }

  async #next<E extends ProcessMessage["event"]>(event: E): Promise<Extract<ProcessMessage, { event: E }>> {
    const said =
      this.#said.shift() ??
      (await new Promise<ProcessMessage>((resolve, reject) => {
        if (this.#ended !== undefined) reject(this.#ended);
        else this.#waiting = { resolve, reject };
      }));
    if (said.event === "failed") throw new Failure(said.message);
    if (said.event !== event) throw new Error(`the generator says ${said.event} where it should say ${event}`);
    return said as Extract<ProcessMessage, { event: E }>;
  }

  #hear(line: string): void {
    let said: ProcessMessage;
    try {
      said = processMessageSchema.parse(JSON.parse(line));
    } catch (error) {
      said = { event: "failed", message: `the generator says what is not understood: ${messageOf(error)}` };
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#said.push(said);
    else waiting.resolve(said);
  }

  #end(error: Error): void {
    this.#ended = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
