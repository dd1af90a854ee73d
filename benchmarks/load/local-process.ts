/**
 * Runs a load generator as one process on this machine. During the run, this file samples the CPU use of the process
 * and of the machine.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { epochMs } from "../../lib/clock";
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import type { CpuSample } from "../../platforms/host/cpu";
import { sampleCpu } from "../../platforms/host/cpu";
import { formatExit, startRecorded } from "../../platforms/host/processes";
import type { RunDirectory } from "../../platforms/host/run-directory";
import { LoadGeneratorFailure } from "./load-driver";

const CPU_INTERVAL_MS = 100;

/** A program to run, with its time limit. */
export interface LocalProcess {
  readonly run: RunDirectory;
  /** Name under which the run directory records the process. */
  readonly recordName: string;
  /** Beginning of error messages about the process, such as `warm-up: valkey-benchmark`. */
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutSeconds: number;
}

/** Collects the output of a process while it runs. */
export interface OutputCollector {
  add(chunk: string): void;
  addError(chunk: string): void;
  /** The whole output of the process. */
  readonly text: string;
  /** The lines that most likely explain why the process failed. */
  readonly lastLines: string;
}

/** A process that ended with status 0. */
export interface EndedProcess {
  readonly startedAt: string;
  readonly cpu: readonly CpuSample[];
  /** Cores that this program itself used during the run. */
  readonly programCores: number;
}

/**
 * Runs a load generator, and kills it if it takes too long or if the signal is aborted.
 * @throws LoadGeneratorFailure when it fails or hangs; the signal's reason if the signal is aborted
 */
export async function runLocalProcess(
  { run, recordName, title, command, args, timeoutSeconds }: LocalProcess,
  output: OutputCollector,
  signal: AbortSignal,
): Promise<EndedProcess> {
  signal.throwIfAborted();
  const startedAt = new Date().toISOString();
  const beganMs = epochMs();
  const cpuBefore = process.cpuUsage();
  const { child, pid, ended } = startRecorded(run, recordName, command, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout?.on("data", (chunk: Buffer) => {
    output.add(chunk.toString());
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    output.addError(chunk.toString());
  });
  const cpu: CpuSample[] = [sampleCpu(pid, epochMs())];
  const sampling = setInterval(() => cpu.push(sampleCpu(pid, epochMs())), CPU_INTERVAL_MS);
  const kill = (): void => {
    const identity = identifyProcess(pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
  };
  signal.addEventListener("abort", kill);
  const exitInTime = await Promise.race([ended, sleep(timeoutSeconds * 1000, undefined, { ref: false })]);
  clearInterval(sampling);
  signal.removeEventListener("abort", kill);
  if (exitInTime === undefined) kill();
  const exit = exitInTime ?? (await ended);
  cpu.push(sampleCpu(pid, epochMs()));
  const { user, system } = process.cpuUsage(cpuBefore);

  signal.throwIfAborted();
  if (exitInTime === undefined) {
    const message = `${title} was killed because it was still running after ${timeoutSeconds} s`;
    throw new LoadGeneratorFailure(message, output.text, { hung: true });
  }
  if (exit.code !== 0) {
    throw new LoadGeneratorFailure(`${title} failed with ${formatExit(exit)}: ${output.lastLines}`, output.text);
  }
  return { startedAt, cpu, programCores: (user + system) / 1000 / (epochMs() - beganMs) };
}

/** Returns the last two non-empty lines of a text that pass the filter, joined into one line. */
export function lastTwoLines(text: string, isOfInterest: (line: string) => boolean = () => true): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && isOfInterest(line));
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
