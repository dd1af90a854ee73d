/** Options of `soak`, with their defaults. Pure. */
import type { Problem } from "../../lib/errors";
import type { Command } from "commander";
import { BadInput, problem } from "../../lib/errors";
import { parseDuration, parseSize } from "../../lib/units";
import { parseNumber } from "./options";
import { COMMAND } from "../../lib/system/package";

/** Options of `soak`. */
export interface SoakOptions {
  readonly stack: string;
  readonly seconds: number;
  readonly windowSeconds: number;
  /**
   * Load on each deployment: offered requests per second, fraction of reads, number of distinct keys, bytes per value.
   */
  readonly load: {
    readonly rate: number;
    readonly reads: number;
    readonly keySpace: number;
    readonly bytes: number;
  };
  /** Highest total size of the servers' files, bytes. */
  readonly diskBytes: number;
  readonly resume: boolean;
  readonly output: string | undefined;
}

/** Highest number of windows of a soak. This number limits the size of the record, regardless of the duration. */
const MAX_WINDOWS = 1000;
/** Shortest window, seconds. A shorter window would have too few requests for tail latencies. */
const MIN_WINDOW_SECONDS = 10;

const DEFAULT_SECONDS = 2 * 3600;
const DEFAULT_RATE = 1000;
const DEFAULT_READS = 0.5;
const DEFAULT_KEYS = 100_000;
const DEFAULT_VALUE_BYTES = 256;
const DEFAULT_DISK_BYTES = 10 * 1024 ** 3;
const MAX_VALUE_BYTES = 512 * 1024 * 1024;

/** Names of options that cannot change when a soak is resumed. */
const FIXED_AT_START: readonly string[] = ["duration", "window", "rate", "reads", "keyspaceLen", "datasize", "maxDisk"];

const FLAGS: Readonly<Record<string, string>> = { keyspaceLen: "keyspace-len", maxDisk: "max-disk" };

/** Adds the options of `soak` to a command. */
export function addSoakOptions(command: Command): Command {
  return command
    .option("--duration <time>", "duration, such as 90s, 30m, 2h or 3d (default: 2h)")
    .option(
      "--window <time>",
      "duration of each window of the report (default: 10s, or longer so that there are at most 1000 windows)",
    )
    .option("--rate <rps>", "offered rate per deployment, requests per second (default: 1000)", parseNumber)
    .option("--reads <part>", "part of the requests that read, 0 to 1 (default: 0.5)", parseNumber)
    .option("--keyspace-len <n>", "distinct keys (default: 100000)", parseNumber)
    .option("--datasize <bytes>", "value size (default: 256)", parseNumber)
    .option("--max-disk <size>", "size of the servers' files at which the soak stops (default: 10gb)")
    .option("--resume", "continue the soak in --output, or the last soak")
    .option("--output <dir>", "directory of the results (default: results/TIME-soak)");
}

/** Converts commander's values to the options of `soak`. @throws BadInput with every problem */
export function soakOptions(stack: string, values: Readonly<Record<string, unknown>>): SoakOptions {
  const reader = new ValueReader(values);
  const seconds = reader.read("duration", parseDuration, DEFAULT_SECONDS, "a duration such as 90s, 30m or 2h");
  const shortest = Math.max(MIN_WINDOW_SECONDS, seconds / MAX_WINDOWS);
  const windowSeconds = reader.read("window", parseDuration, shortest, "a duration such as 10s");
  if (seconds / windowSeconds > MAX_WINDOWS) {
    const count = Math.ceil(seconds / windowSeconds);
    const least = Math.ceil(seconds / MAX_WINDOWS);
    reader.problems.push(
      problem(
        "too-many-windows",
        "--window",
        `${count} windows of ${windowSeconds} s; at most ${MAX_WINDOWS} are allowed, so a window must last at least ${least} s`,
      ),
    );
  }
  const load = {
    rate: reader.read("rate", whole(1_000_000), DEFAULT_RATE, "a number from 1 to 1000000"),
    reads: reader.read("reads", fraction, DEFAULT_READS, "a part from 0 to 1"),
    keySpace: reader.read("keyspaceLen", whole(1_000_000_000), DEFAULT_KEYS, "a number from 1 to 1000000000"),
    bytes: reader.read(
      "datasize",
      whole(MAX_VALUE_BYTES),
      DEFAULT_VALUE_BYTES,
      `a number of bytes from 1 to ${MAX_VALUE_BYTES}`,
    ),
  };
  const resume = values["resume"] === true;
  if (resume)
    reader.refuse(
      FIXED_AT_START,
      "cannot change when a soak is resumed; leave it out, or begin a new soak without --resume",
    );
  const size = (value: unknown): number | undefined => parseSize(String(value));
  const diskBytes = reader.read("maxDisk", size, DEFAULT_DISK_BYTES, "a size such as 20gb");
  if (reader.problems.length > 0) throw new BadInput(`${COMMAND} soak`, reader.problems);
  const { output } = values;
  return {
    stack,
    seconds,
    windowSeconds,
    load,
    diskBytes,
    resume,
    output: typeof output === "string" ? output : undefined,
  };
}

/** Reads option values, and collects the problems of all wrong values. */
class ValueReader {
  readonly problems: Problem[] = [];

  constructor(private readonly values: Readonly<Record<string, unknown>>) {}

  read(name: string, parse: (value: unknown) => number | undefined, fallback: number, expected: string): number {
    const value = this.values[name];
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if (parsed === undefined)
      this.problems.push(problem("wrong-value", flag(name), ` is ${JSON.stringify(value)}: expected ${expected}`));
    return parsed ?? fallback;
  }

  refuse(names: readonly string[], why: string): void {
    const given = Object.keys(this.values).filter((name) => names.includes(name));
    this.problems.push(...given.map((name) => problem("fixed-at-start", flag(name), ` ${why}`)));
  }
}

function flag(name: string): string {
  return `--${FLAGS[name] ?? name}`;
}

function whole(most: number): (value: unknown) => number | undefined {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most ? value : undefined;
}

function fraction(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}
