import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, readInfoSections } from "../../valkey/connection";
import { epochMs } from "../../lib/clock";
import { messageOf } from "../../lib/errors";
import { infoFields, infoNumber, parseInfo } from "../../valkey/topology/replies";

export interface CounterSample {
  /** Time of the sample, milliseconds since the epoch, by the clock of this machine. */
  readonly atMs: number;
  readonly calls: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  /** CPU seconds of the process and of its main thread, which only servers on Linux report. */
  readonly cpuSeconds: number;
  readonly mainThreadSeconds: number | undefined;
  readonly rejectedCalls: number;
}

/** @param commands commands whose calls are counted @throws Error if a value is lacking that every server reports */
export function parseCounters(text: string, commands: readonly string[], atMs: number): CounterSample {
  const info = parseInfo(text);
  const need = (key: string): number => {
    const value = infoNumber(info, key);
    if (value === undefined) throw new Error(`INFO has no ${key}`);
    return value;
  };
  const stats = commands.map((command) => infoFields(info.get(`cmdstat_${command}`) ?? ""));
  const sum = (...fields: string[]): number =>
    stats.reduce((total, each) => fields.reduce((part, field) => part + Number(each.get(field) ?? 0), total), 0);
  const mainSystem = infoNumber(info, "used_cpu_sys_main_thread");
  const mainUser = infoNumber(info, "used_cpu_user_main_thread");
  return {
    atMs,
    calls: sum("calls"),
    hits: need("keyspace_hits"),
    misses: need("keyspace_misses"),
    evictions: need("evicted_keys"),
    cpuSeconds: need("used_cpu_sys") + need("used_cpu_user"),
    mainThreadSeconds: mainSystem === undefined || mainUser === undefined ? undefined : mainSystem + mainUser,
    rejectedCalls: sum("rejected_calls", "failed_calls"),
  };
}

/**
 * Samples have the server's own time if INFO has it: a reply may have waited behind the load. The difference of the
 * clocks comes from the sample with the quickest reply.
 */
export class CounterSampler {
  readonly #samples: { readonly sentMs: number; readonly receivedMs: number; readonly text: string }[] = [];
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #error: string | undefined;

  constructor(
    private readonly node: { readonly name: string; readonly connection: Connection },
    private readonly commands: readonly string[],
    private readonly intervalMs: number,
  ) {}

  async start(): Promise<void> {
    await this.#sample();
    this.#loop = this.#run();
  }

  /** @returns all samples in order, or the reason why no samples exist */
  async finish(): Promise<CounterSample[] | string> {
    this.stop();
    await this.#loop;
    await this.#sample();
    if (this.#error !== undefined) return this.#error;
    try {
      return this.#dated();
    } catch (error) {
      return messageOf(error);
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    for (;;) {
      const isStopped = await sleep(this.intervalMs, false, { signal: this.#stop.signal }).catch(() => true);
      if (isStopped || this.#error !== undefined) return;
      await this.#sample();
    }
  }

  async #sample(): Promise<void> {
    try {
      const sentMs = epochMs();
      const text = await readInfoSections(this.node.connection, "server", "stats", "commandstats", "cpu");
      // The text is parsed after the measurement. Parsing it now would take CPU from the load on this machine.
      this.#samples.push({ sentMs, receivedMs: epochMs(), text });
    } catch (error) {
      this.#error ??= `${this.node.name}: ${messageOf(error)}`;
    }
  }

  #dated(): CounterSample[] {
    const samples = this.#samples.map((sample) => {
      const serverUs = infoNumber(parseInfo(sample.text), "server_time_usec");
      return {
        ...sample,
        middleMs: (sample.sentMs + sample.receivedMs) / 2,
        serverMs: serverUs === undefined ? undefined : serverUs / 1000,
      };
    });
    const quickest = [...samples].sort((a, b) => a.receivedMs - a.sentMs - (b.receivedMs - b.sentMs))[0];
    const offset = quickest?.serverMs === undefined ? 0 : quickest.middleMs - quickest.serverMs;
    return samples.map(({ text, middleMs, serverMs }) =>
      parseCounters(text, this.commands, serverMs === undefined ? middleMs : serverMs + offset),
    );
  }
}

/** The time in which a load generator sent its load, in milliseconds since the epoch. */
export interface MeasuredInterval {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface NodeCounts {
  readonly calls: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly rejectedCalls: number;
  /** Used cores: CPU seconds per second. */
  readonly cores: number;
  readonly mainThreadCores: number | undefined;
}

/**
 * Calls from the first sample, before the interval, to the last, after it, because nothing is sent outside. CPU only
 * between samples inside, because a server also uses CPU outside the interval.
 */
export function countsWithin(samples: readonly CounterSample[], interval: MeasuredInterval): NodeCounts {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) throw new Error("no samples");
  const during = (figure: (sample: CounterSample) => number): number => figure(last) - figure(first);
  const inside = samples.filter((sample) => sample.atMs >= interval.fromMs && sample.atMs <= interval.toMs);
  const [begin = first, end = last] = inside.length >= 2 ? [inside[0], inside.at(-1)] : [first, last];
  return {
    calls: during((sample) => sample.calls),
    hits: during((sample) => sample.hits),
    misses: during((sample) => sample.misses),
    evictions: during((sample) => sample.evictions),
    rejectedCalls: during((sample) => sample.rejectedCalls),
    ...coresBetween(begin, end),
  };
}

function coresBetween(begin: CounterSample, end: CounterSample): Pick<NodeCounts, "cores" | "mainThreadCores"> {
  const seconds = Math.max((end.atMs - begin.atMs) / 1000, 0.001);
  const isKnown = end.mainThreadSeconds !== undefined && begin.mainThreadSeconds !== undefined;
  return {
    cores: (end.cpuSeconds - begin.cpuSeconds) / seconds,
    mainThreadCores: isKnown ? (end.mainThreadSeconds - begin.mainThreadSeconds) / seconds : undefined,
  };
}
