/** Seconds of a run in which processors were idle, by group of tests and by file. Counted on Linux only. */
import { readFileSync } from "node:fs";

const INTERVAL_MS = 250;
const TICKS_PER_SECOND = 100;
const MOST_FILES = 6;

interface Wait {
  seconds: number;
  allIdle: number;
  someIdle: number;
  /** Idle processor-seconds while a file ran. */
  readonly files: Map<string, number>;
}

export class Waits {
  readonly #groups = new Map<string, Wait>();
  readonly #timer = setInterval(() => {
    this.sample(readFileSync("/proc/stat", "utf8"));
  }, INTERVAL_MS);
  #before: readonly number[] | undefined;

  /** @param running files that run */
  constructor(private readonly running: ReadonlyMap<string, { readonly group: string }>) {
    if (process.platform !== "linux") this.close();
  }

  /** @param stat content of /proc/stat */
  sample(stat: string): void {
    const processors = stat.match(/^cpu\d/gm)?.length ?? 1;
    // Of all processors: user, nice, system, idle, iowait, irq, softirq, steal. Time of guests is in user, too.
    const now = stat.split("\n", 1)[0]?.trim().split(/ +/).slice(1, 9).map(Number) ?? [];
    const spent = now.map((ticks, field) => (ticks - (this.#before?.[field] ?? ticks)) / TICKS_PER_SECOND);
    this.#before = now;
    const seconds = spent.reduce((sum, each) => sum + each, 0) / processors;
    const idleSeconds = (spent[3] ?? 0) + (spent[4] ?? 0);
    if (seconds <= 0) return;
    const idle = Math.round(idleSeconds / seconds);
    const groups = new Set([...this.running.values()].map(({ group }) => group));
    for (const group of groups.size > 0 ? groups : ["between files"]) {
      const wait = this.#groups.get(group) ?? { seconds: 0, allIdle: 0, someIdle: 0, files: new Map<string, number>() };
      this.#groups.set(group, wait);
      wait.seconds += seconds;
      if (idle >= processors) wait.allIdle += seconds;
      else if (idle > 0) wait.someIdle += seconds;
      for (const [file, its] of this.running)
        if (its.group === group) wait.files.set(file, (wait.files.get(file) ?? 0) + idleSeconds);
    }
  }

  /** A line for each group. */
  lines(): string[] {
    const round = (seconds: number): string => `${Math.round(seconds)} s`;
    return [...this.#groups].map(([group, { seconds, allIdle, someIdle, files }]) => {
      const most = [...files]
        .filter(([, idle]) => idle >= 1)
        .sort(([, a], [, b]) => b - a)
        .slice(0, MOST_FILES);
      const names = most.map(([file, idle]) => `${file.replace(/^tests\/|\.test\.ts$/g, "")} ${round(idle)}`);
      const told = names.length > 0 ? `; idle processor-seconds while these ran: ${names.join(", ")}` : "";
      return `${group}: ${round(seconds)}, all processors idle ${round(allIdle)}, some idle ${round(someIdle)}${told}`;
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
