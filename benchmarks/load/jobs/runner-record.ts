import { Failure } from "../../../lib/errors";
import { RECORD_LINE_PREFIX } from "./runner-script";

export interface RunnerRecord {
  /** Number of cores that the container is allowed to use according to its affinity. CPU limits are not considered. */
  readonly cores: number;
  readonly phases: readonly RunnerPhase[];
}

export interface RunnerPhase {
  readonly exit: number;
  readonly text: string;
  /** Seconds from the start of the phase until the load generator ended, by the runner's clock. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** CPU time of the runner's whole machine; undefined if /proc/stat cannot be read. */
  readonly machine: { readonly busySeconds: number; readonly stolenSeconds: number } | undefined;
}

/** The value is 100 for programs on every Linux machine. */
const TICKS_PER_SECOND = 100;

interface Counters {
  readonly uptime: number;
  readonly machine: RunnerPhase["machine"];
  readonly childSeconds: number;
}

export function parseRunnerRecord(text: string): RunnerRecord {
  const lines = text.split("\n");
  const phases: RunnerPhase[] = [];
  let at = 0;
  const next = (what: string): string => {
    const match = new RegExp(`^${RECORD_LINE_PREFIX} ${what}(.*)$`).exec(lines[at] ?? "");
    if (match === null)
      throw new Failure(`the record of a runner contains ${quoteLine(lines[at])} where ${what.trim()} is expected`);
    at++;
    return (match[1] ?? "").trim();
  };
  const counters = (): Counters => {
    const uptime = Number(next("uptime"));
    const machine = machineSeconds(next(""));
    next("times");
    // `times` prints two lines. The second line is the CPU time of the shell's children.
    const childSeconds = durations(lines[at + 1] ?? "");
    at += 2;
    return { uptime, machine, childSeconds };
  };
  const cores = Number(next("cores "));
  while (lines[at]?.startsWith(`${RECORD_LINE_PREFIX} phase `)) {
    next("phase ");
    const begin = counters();
    const first = at;
    while (lines[at] !== undefined && !lines[at]?.startsWith(`${RECORD_LINE_PREFIX} exit `)) at++;
    const output = lines.slice(first, at).join("\n");
    const exit = Number(next("exit "));
    phases.push(phaseOf(exit, output, begin, counters()));
  }
  next("end");
  return { cores, phases };
}

function quoteLine(line: string | undefined): string {
  return line === undefined ? "no more lines" : JSON.stringify(line);
}

function phaseOf(exit: number, text: string, begin: Counters, end: Counters): RunnerPhase {
  const machine =
    begin.machine === undefined || end.machine === undefined
      ? undefined
      : {
          busySeconds: end.machine.busySeconds - begin.machine.busySeconds,
          stolenSeconds: end.machine.stolenSeconds - begin.machine.stolenSeconds,
        };
  return { exit, text, seconds: end.uptime - begin.uptime, cpuSeconds: end.childSeconds - begin.childSeconds, machine };
}

function machineSeconds(line: string): RunnerPhase["machine"] {
  const match = /^cpu +(.*)$/.exec(line);
  if (match === null) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = (match[1] ?? "")
    .split(" ")
    .map(Number);
  return {
    busySeconds: (user + nice + system + irq + softirq) / TICKS_PER_SECOND,
    stolenSeconds: stolen / TICKS_PER_SECOND,
  };
}

/** The line comes from the shell's `times`, for example `1m2.50s 0m0.25s`. */
function durations(line: string): number {
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}
