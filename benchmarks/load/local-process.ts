import { setTimeout as sleep } from "node:timers/promises";
import { epochMs } from "../../lib/clock";
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import { type CpuSample, sampleCpu } from "../../platforms/host/cpu";
import { formatExit, startRecorded } from "../../platforms/host/processes";
import type { RunDirectory } from "../../platforms/host/run-directory";
import { LoadGeneratorFailure } from "./load-driver";

const CPU_INTERVAL_MS = 100;

interface LocalProcess {
  readonly run: RunDirectory;
  readonly recordName: string;
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutSeconds: number;
}

export interface OutputCollector {
  add(chunk: string): void;
  addError(chunk: string): void;
  readonly text: string;
  readonly lastLines: string;
}

export interface EndedProcess {
  readonly startedAt: string;
  readonly cpu: readonly CpuSample[];
  readonly programCores: number;
}

export async function sampleDuring<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<EndedProcess & { readonly result: T }> {
  const startedAt = new Date().toISOString();
  const beganMs = epochMs();
  const cpuBefore = process.cpuUsage();
  const cpu: CpuSample[] = [sampleCpu(pid, beganMs)];
  const sample = (): void => {
    cpu.push(sampleCpu(pid, epochMs()));
  };
  const sampling = setInterval(sample, CPU_INTERVAL_MS);
  try {
    const result = await work();
    sample();
    const { user, system } = process.cpuUsage(cpuBefore);
    return { startedAt, cpu, programCores: (user + system) / 1000 / (epochMs() - beganMs), result };
  } finally {
    clearInterval(sampling);
  }
}

export async function runLocalProcess(
  { run, recordName, title, command, args, timeoutSeconds }: LocalProcess,
  output: OutputCollector,
  signal: AbortSignal,
): Promise<EndedProcess> {
  signal.throwIfAborted();
  const { child, pid, ended } = startRecorded(run, recordName, command, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout?.on("data", (chunk: Buffer) => {
    output.add(chunk.toString());
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    output.addError(chunk.toString());
  });
  const kill = (): void => {
    const identity = identifyProcess(pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
  };
  signal.addEventListener("abort", kill);
  const { result, ...sampled } = await sampleDuring(pid, async () => {
    const exitInTime = await Promise.race([ended, sleep(timeoutSeconds * 1000, undefined, { ref: false })]);
    if (exitInTime === undefined) kill();
    return { hasHung: exitInTime === undefined, exit: await ended };
  });
  const { hasHung, exit } = result;
  signal.removeEventListener("abort", kill);

  signal.throwIfAborted();
  if (hasHung) {
    const message = `${title} was killed because it was still running after ${timeoutSeconds} s`;
    throw new LoadGeneratorFailure(message, output.text, { hung: true });
  }
  if (exit.code !== 0) {
    throw new LoadGeneratorFailure(`${title} failed with ${formatExit(exit)}: ${output.lastLines}`, output.text);
  }
  return sampled;
}

export function lastTwoLines(text: string, isOfInterest: (line: string) => boolean = () => true): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && isOfInterest(line));
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
