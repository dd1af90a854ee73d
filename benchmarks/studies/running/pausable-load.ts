/** Load generators that run until `end` is called, and can be paused (SIGSTOP) and resumed at any time. */
import type { RecordedProcess } from "../../../platforms/host/processes";
import { formatExit, pinnedCommand, signalChildGroup, startRecorded } from "../../../platforms/host/processes";
import type { RunDirectory } from "../../../platforms/host/run-directory";
import { LoadGeneratorFailure } from "../../load/load-driver";
import { runnerShare } from "../../load/valkey-benchmark/local-driver";
import {
  type ValkeyBenchmarkRun,
  type ValkeyBenchmarkFeatures,
  valkeyBenchmarkArguments,
  withoutSecrets,
} from "../../load/valkey-benchmark/arguments";

/** Load generators end by themselves if this process is killed. Without `--duration`, after requests of a minute. */
const MAX_SECONDS = 600;
const MAX_REQUESTS = 200_000_000;
const KEPT_CHARACTERS = 500;

interface PausableLoadPlan {
  readonly run: RunDirectory;
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
  /** The `length` of this load is ignored. */
  readonly tool: ValkeyBenchmarkRun;
  readonly count: number;
  readonly cpus: readonly number[] | undefined;
}

export class PausableLoad {
  readonly #processes: readonly RecordedProcess[];
  readonly #failure = new AbortController();
  #ending = false;
  readonly command: string;

  constructor({ run, benchmark, features, tool, count, cpus }: PausableLoadPlan) {
    const long = {
      ...tool,
      length: features.duration ? { seconds: MAX_SECONDS } : { requests: MAX_REQUESTS * count },
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

  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  pause(): void {
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  async end(): Promise<void> {
    this.#ending = true;
    this.#signal("SIGKILL");
    await Promise.all(this.#processes.map(({ ended }) => ended));
  }

  #signal(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    for (const each of this.#processes) signalChildGroup(each, signal);
  }

  #watched(started: RecordedProcess): RecordedProcess {
    let output = "";
    // The output must be read, because a full pipe blocks the load generator.
    for (const stream of [started.child.stdout, started.child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-KEPT_CHARACTERS);
      });
    void started.ended.then((exit) => {
      const lines = output
        .split(/[\r\n]+/)
        .map((line) => line.trim())
        .filter((line) => line !== "");
      if (!this.#ending)
        this.#failure.abort(
          new LoadGeneratorFailure(
            `valkey-benchmark ended with ${formatExit(exit)}: ${lines.slice(-2).join(" / ") || "no output"}`,
            output,
          ),
        );
    });
    return started;
  }
}
