import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

export interface CpuSample {
  readonly atMs: number;
  readonly processSeconds: number | undefined;
  /** `stolenSeconds`: the hypervisor ran other virtual machines instead. */
  readonly machine: { readonly busySeconds: number; readonly stolenSeconds: number } | undefined;
}

/** It is 100 for programs on every Linux machine. */
const TICKS = 100;

export function sampleCpu(pid: number, atMs: number): CpuSample {
  return { atMs, processSeconds: processSeconds(pid), machine: machineSeconds() };
}

function processSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  } catch {
    return undefined;
  }
}

function machineSeconds(): CpuSample["machine"] {
  try {
    const line = /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? "";
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = line.split(" ").map(Number);
    return { busySeconds: (user + nice + system + irq + softirq) / TICKS, stolenSeconds: stolen / TICKS };
  } catch {
    const times = cpus().map((cpu) => cpu.times.user + cpu.times.nice + cpu.times.sys + cpu.times.irq);
    return times.length === 0
      ? undefined
      : { busySeconds: times.reduce((sum, ms) => sum + ms, 0) / 1000, stolenSeconds: 0 };
  }
}

export interface CpuUse {
  readonly process: number | undefined;
  readonly machineBusy: number | undefined;
  readonly machineStolen: number | undefined;
}

export function cpuWithin(samples: readonly CpuSample[], fromMs: number, toMs: number): CpuUse {
  const inside = samples.filter((sample) => sample.atMs >= fromMs && sample.atMs <= toMs);
  const rate = (figure: (sample: CpuSample) => number | undefined): number | undefined => {
    const having = inside.flatMap((sample) => {
      const value = figure(sample);
      return value === undefined ? [] : [{ atMs: sample.atMs, value }];
    });
    const first = having[0];
    const last = having.at(-1);
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return undefined;
    return (last.value - first.value) / ((last.atMs - first.atMs) / 1000);
  };
  return {
    process: rate((sample) => sample.processSeconds),
    machineBusy: rate((sample) => sample.machine?.busySeconds),
    machineStolen: rate((sample) => sample.machine?.stolenSeconds),
  };
}

/** The affinity mask and the quota of the control group limit it. */
export function availableCores(): number {
  return Math.min(availableParallelism(), quotaCores() ?? Infinity);
}

function quotaCores(): number | undefined {
  const read = (file: string): number[] => {
    try {
      return readFileSync(`/sys/fs/cgroup/${file}`, "utf8").trim().split(" ").map(Number);
    } catch {
      return [];
    }
  };
  const [quota, period] = [...read("cpu.max"), ...read("cpu/cpu.cfs_quota_us"), ...read("cpu/cpu.cfs_period_us")];
  return quota === undefined || period === undefined || !(quota > 0) ? undefined : quota / period;
}
