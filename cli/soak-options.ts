/** What `soak` can be told, and what it does where it is told nothing. Pure. */
import type { Command } from "commander";
import { BadInput } from "../lib/errors";
import { parseSize } from "../lib/units";
import { parseNumber } from "./options";

export interface SoakOptions {
  readonly stack: string;
  readonly seconds: number;
  readonly windowSeconds: number;
  /** Requests per second on each deployment, the part of them that reads, distinct keys, bytes per value. */
  readonly load: { readonly rate: number; readonly reads: number; readonly keySpace: number; readonly bytes: number };
  /** Bytes that the servers' files may take. */
  readonly diskBytes: number;
  readonly resume: boolean;
  readonly output: string | undefined;
}

/** So many windows at most: what is written of a soak is bounded, however long it lasts. */
const MOST_WINDOWS = 1000;
/** A window has a tail only when it has some requests. */
const LEAST_WINDOW_SECONDS = 10;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export function addSoakOptions(command: Command): Command {
  return command
    .option("--for <duration>", "how long: 90s, 30m, 2h, 3d (2h)")
    .option("--window <duration>", "how often nodes are looked at and tails told apart")
    .option("--rate <rps>", "requests offered per second to each deployment (1000)", parseNumber)
    .option("--reads <part>", "part of them that read, 0 to 1 (0.5)", parseNumber)
    .option("--keyspace-len <n>", "distinct keys (100000)", parseNumber)
    .option("--datasize <bytes>", "value size (256)", parseNumber)
    .option("--disk <size>", "what the servers' files may take: 20gb (10gb)")
    .option("--resume", "go on with the one that was begun last, or that is in --output")
    .option("--output <dir>", "directory for what is seen");
}

/** @throws BadInput with every problem */
export function soakOptions(stack: string, values: Readonly<Record<string, unknown>>): SoakOptions {
  const problems: string[] = [];
  const given = (
    name: string,
    parse: (value: unknown) => number | undefined,
    fallback: number,
    expected: string,
  ): number => {
    const value = values[name];
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if (parsed === undefined)
      problems.push(`--${LONG[name] ?? name} is ${JSON.stringify(value)}: expected ${expected}`);
    return parsed ?? fallback;
  };
  const seconds = given("for", parseDuration, 2 * 3600, "a duration such as 90s, 30m or 2h");
  const least = Math.max(LEAST_WINDOW_SECONDS, seconds / MOST_WINDOWS);
  const windowSeconds = given("window", parseDuration, least, "a duration such as 10s");
  if (seconds / windowSeconds > MOST_WINDOWS)
    problems.push(
      `--window: ${Math.ceil(seconds / windowSeconds)} windows of ${windowSeconds} s; at most ${MOST_WINDOWS}, so at least ${Math.ceil(seconds / MOST_WINDOWS)}s`,
    );
  const load = {
    rate: given("rate", whole(1, 1_000_000), 1000, "a number from 1 to 1000000"),
    reads: given(
      "reads",
      (value) => (typeof value === "number" && value >= 0 && value <= 1 ? value : undefined),
      0.5,
      "a part from 0 to 1",
    ),
    keySpace: given("keyspaceLen", whole(1, 1_000_000_000), 100_000, "a number from 1 to 1000000000"),
    bytes: given("datasize", whole(1, 512 * 1024 * 1024), 256, "a number of bytes from 1 to 536870912"),
  };
  const resume = values["resume"] === true;
  if (resume)
    problems.push(
      ...Object.keys(values)
        .filter((name) => SET_AT_ONCE.includes(name))
        .map(
          (name) =>
            `--${LONG[name] ?? name}: a soak that is resumed goes on as it was begun; without --resume another is begun`,
        ),
    );
  const diskBytes = given("disk", (value) => parseSize(String(value)), 10 * 1024 ** 3, "a size such as 20gb");
  if (problems.length > 0) throw new BadInput("npm start -- soak", problems);
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

/** What a soak is begun with, and keeps. */
const SET_AT_ONCE: readonly string[] = ["for", "window", "rate", "reads", "keyspaceLen", "datasize", "disk"];

const LONG: Readonly<Record<string, string>> = { keyspaceLen: "keyspace-len" };

function whole(least: number, most: number): (value: unknown) => number | undefined {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : undefined;
}

/** Seconds of `90s`, `30m`, `2h` or `3d`; undefined when it is none. */
export function parseDuration(value: unknown): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([smhd])$/.exec(String(value).trim());
  const seconds = match === null ? 0 : Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0);
  return seconds > 0 ? seconds : undefined;
}
