import { join } from "node:path";
import { createInterface } from "node:readline";
import { Failure, messageOf } from "../../../lib/errors";
import { identifyProcess, signalProcess } from "../../../lib/system/process-identity";
import { replaceFile } from "../../../lib/system/replace-file";
import { type RecordedProcess, formatExit, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { GENERATOR_BUNDLE } from "./bundle";
import { type OpenLoopPlan, type ProcessMessage, START_COMMAND, processMessageSchema, STOP_COMMAND } from "./plan";
import { Tally } from "../tally";

export class GeneratorProcess {
  #waiting:
    | { readonly resolve: (message: ProcessMessage) => void; readonly reject: (error: Error) => void }
    | undefined;
  #messages: ProcessMessage[] = [];
  #errors = "";
  #failure: Error | undefined;

  private constructor(private readonly recorded: RecordedProcess) {
    const { child, ended } = recorded;
    // On a busy machine, the exit of the process may be reported before all of its output was read.
    const outputRead = new Promise<void>((resolve) => {
      if (child.stdout === null) resolve();
      else
        createInterface({ input: child.stdout })
          .on("line", (line) => {
            this.#receive(line);
          })
          .once("close", resolve);
    });
    child.stderr?.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    // The exit event already reports that the process has ended. A write error adds no information.
    child.stdin?.on("error", () => undefined);
    void Promise.all([ended, outputRead]).then(([exit]) => {
      const lastLine = this.#errors.trim().split("\n").at(-1) ?? "";
      const reason = lastLine === "" ? "" : `: ${lastLine}`;
      this.#fail(new Failure(`the open-loop generator ended with ${formatExit(exit)}${reason}`));
    });
  }

  /** @throws Failure when a server cannot be reached or the process ends */
  static async start(run: RunDirectory, plan: OpenLoopPlan): Promise<GeneratorProcess> {
    const file = join(run.path, "open-loop.cjs");
    // A process that measures a different deployment may be reading this file, so the file is replaced in one step.
    replaceFile(file, await GENERATOR_BUNDLE.text());
    const started = new GeneratorProcess(
      startRecorded(run, "open-loop", process.execPath, [file], { stdio: ["pipe", "pipe", "pipe"] }),
    );
    try {
      started.#send(JSON.stringify(plan));
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

  async run(): Promise<Tally[]> {
    this.#send(START_COMMAND);
    const { tallies } = await this.#next("result");
    await this.recorded.ended;
    return tallies.map((data) => Tally.ofData(data));
  }

  /** `run` then returns the tallies up to this moment. */
  stop(): void {
    this.#send(STOP_COMMAND);
  }

  async kill(): Promise<void> {
    const identity = identifyProcess(this.pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
    await this.recorded.ended;
  }

  #send(line: string): void {
    this.recorded.child.stdin?.write(`${line}\n`);
  }

  async #next<E extends ProcessMessage["event"]>(event: E): Promise<Extract<ProcessMessage, { event: E }>> {
    const message =
      this.#messages.shift() ??
      (await new Promise<ProcessMessage>((resolve, reject) => {
        if (this.#failure !== undefined) reject(this.#failure);
        else this.#waiting = { resolve, reject };
      }));
    if (message.event === "failed") throw new Failure(message.message);
    if (message.event !== event)
      throw new Error(`the open-loop generator sent the message ${message.event} instead of ${event}`);
    return message as Extract<ProcessMessage, { event: E }>;
  }

  #receive(line: string): void {
    let message: ProcessMessage;
    try {
      message = processMessageSchema.parse(JSON.parse(line));
    } catch (error) {
      message = {
        event: "failed",
        message: `the open-loop generator sent a message that is not understood: ${messageOf(error)}`,
      };
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#messages.push(message);
    else waiting.resolve(message);
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
