/** Load generators that send until they are ended, and can be halted at any moment and go on: SIGSTOP and SIGCONT. */
import type { RecordedProcess } from "../../../platforms/host/processes";
import { formatExit, pinnedCommand, signalChildGroup, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { runnerShare, LoadGeneratorFailure } from "../../load/load-runner";
import type { ValkeyBenchmarkRun } from "../../load/valkey-benchmark/arguments";
import { valkeyBenchmarkArguments, withoutSecrets } from "../../load/valkey-benchmark/arguments";
import type { ValkeyBenchmarkFeatures } from "../../load/valkey-benchmark/features";

/**
 * Longer than they are wanted: they are ended, they do not end. Not for ever, for nobody ends them where this process is killed.
 * Without `--duration` so many requests, which is a minute of the fastest.
 */
const LONG_SECONDS = 600;
const LONG_REQUESTS = 200_000_000;
/** What is kept of their last words, characters. */
const KEPT = 500;

export interface PausableLoadPlan {
  readonly run: RunDirectory;
  /** Path of valkey-benchmark. */
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
  /** What all of them together send; its length is not asked for. */
  readonly tool: ValkeyBenchmarkRun;
  /** Side by side. */
  readonly count: number;
  /** CPUs they are held to. @default wherever the kernel puts them */
  readonly cpus: readonly number[] | undefined;
}

export class PausableLoad {
  readonly #processes: readonly RecordedProcess[];
  readonly #failure = new AbortController();
  #ending = false;
  /** Arguments of the first, for the record; secrets are replaced. */
  readonly command: string;

  /** Starts them; they send at once. */
  constructor({ run, benchmark, features, tool, count, cpus }: PausableLoadPlan) {
    const long = {
      ...tool,
      length: features.duration ? { seconds: LONG_SECONDS } : { requests: LONG_REQUESTS * count },
    };
    const parts = Array.from({ length: count }, (_, index) =>
      valkeyBenchmarkArguments(runnerShare(long, index, count)),
    );
    this.command = ["valkey-benchmark", ...withoutSecrets(parts[0] ?? [])].join(" ");
    this.#processes = parts.map((args) => {
      const [command, ...rest] = pinnedCommand(cpus?.join(","), benchmark, args);
      return this.#watched(
        startRecorded(run, "valkey-benchmark-slices", command, rest, { stdio: ["ignore", "pipe", "pipe"] }),
      );
    });
  }

  /** Aborted, with a ToolFailure as its reason, when one ends without being told to. */
  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  pause(): void {
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Resolves when all are gone. */
  async end(): Promise<void> {
    this.#ending = true;
    this.#signal("SIGKILL");
    await Promise.all(this.#processes.map(({ ended }) => ended));
  }

  #signal(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    for (const each of this.#processes) signalChildGroup(each, signal);
  }

  #watched(started: RecordedProcess): RecordedProcess {
    let said = "";
    // Read all the same: who writes into a full pipe stands still.
    for (const stream of [started.child.stdout, started.child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(-KEPT);
      });
    void started.ended.then((exit) => {
      const lines = said
        .split(/[\r\n]+/)
        .map((line) => line.trim())
        .filter((line) => line !== "");
      if (!this.#ending)
        this.#failure.abort(
          new LoadGeneratorFailure(
            `valkey-benchmark ended with ${formatExit(exit)}: ${lines.slice(-2).join(" / ") || "it printed nothing"}`,
            said,
          ),
        );
    });
    return started;
  }
}
