/** What a runner reports: the tool's output and what it cost, by the runner's own clock. Pure. */
import { Failure } from "../../../lib/errors";
import { RECORD_LINE_PREFIX } from "./runner-script";

export interface RunnerRecord {
  /** Cores its container may use, as far as affinity goes. */
  readonly cores: number;
  readonly phases: readonly RunnerPhase[];
}

/** One run of the tool. */
export interface RunnerPhase {
  readonly exit: number;
  /** What the tool printed, untouched. */
  readonly text: string;
  /** From the moment all were told to begin to the tool's end. */
  readonly seconds: number;
  /** CPU of the tool. */
  readonly cpuSeconds: number;
  /** Of the whole machine; undefined where it does not tell. */
  readonly machine: { readonly busySeconds: number; readonly stolenSeconds: number } | undefined;
}

/** Clock ticks per second in /proc, which Linux fixes for user space. */
const TICKS = 100;

interface Mark {
  readonly uptime: number;
  readonly machine: RunnerPhase["machine"];
  readonly childSeconds: number;
}

/** @throws Failure when it is not whole */
export function parseRunnerRecord(text: string): RunnerRecord {
  const lines = text.split("\n");
  const phases: RunnerPhase[] = [];
  let at = 0;
  const said = (what: string): string => {
    const match = new RegExp(`^${RECORD_LINE_PREFIX} ${what}(.*)$`).exec(lines[at] ?? "");
    if (match === null)
      throw new Failure(
        `a runner's record has ${lines[at] === undefined ? "an end" : JSON.stringify(lines[at])} where ${what.trim()} should be`,
      );
    at++;
    return (match[1] ?? "").trim();
  };
  const mark = (): Mark => {
    const uptime = Number(said("uptime"));
    const machine = machineSeconds(said(""));
    said("times");
    // The shell's own, then its children's.
    const childSeconds = durations(lines[at + 1] ?? "");
    at += 2;
    return { uptime, machine, childSeconds };
  };
  const cores = Number(said("cores "));
  while (lines[at]?.startsWith(`${RECORD_LINE_PREFIX} phase `)) {
    said("phase ");
    const begin = mark();
    const first = at;
    while (lines[at] !== undefined && !lines[at]?.startsWith(`${RECORD_LINE_PREFIX} exit `)) at++;
    const output = lines.slice(first, at).join("\n");
    const exit = Number(said("exit "));
    phases.push(phaseOf(exit, output, begin, mark()));
  }
  said("end");
  return { cores, phases };
}

function phaseOf(exit: number, text: string, begin: Mark, end: Mark): RunnerPhase {
  const machine =
    begin.machine === undefined || end.machine === undefined
      ? undefined
      : {
          busySeconds: end.machine.busySeconds - begin.machine.busySeconds,
          stolenSeconds: end.machine.stolenSeconds - begin.machine.stolenSeconds,
        };
  return { exit, text, seconds: end.uptime - begin.uptime, cpuSeconds: end.childSeconds - begin.childSeconds, machine };
}

/** The first line of /proc/stat. */
function machineSeconds(line: string): RunnerPhase["machine"] {
  const match = /^cpu +(.*)$/.exec(line);
  if (match === null) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = (match[1] ?? "")
    .split(" ")
    .map(Number);
  return { busySeconds: (user + nice + system + irq + softirq) / TICKS, stolenSeconds: stolen / TICKS };
}

/** `1m2.50s 0m0.25s`, as the shell's `times` has it: user and system. */
function durations(line: string): number {
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}
