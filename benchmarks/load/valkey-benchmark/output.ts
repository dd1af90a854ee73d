/** valkey-benchmark's text output as data. Pure; fixtures of real output are in tests/fixtures. */
import { Failure } from "../../../lib/errors";
import type { CumulativeCount } from "../../../lib/histogram";

/** One report of the tool. Latencies are milliseconds, of a whole pipeline where there is one. */
export interface LoadReport {
  readonly title: string;
  readonly requests: number;
  /** Requests per second. */
  readonly rate: number;
  /** Seconds; from count and rate, which are printed more exactly than the seconds are. */
  readonly seconds: number;
  readonly avgMs: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** From "Latency by percentile distribution", ascending. */
  readonly percentiles: readonly CumulativeCount[];
  /** From "Cumulative distribution of latencies": every 0.1 ms up to 2 ms, then every 1 ms; steps without change are left out. */
  readonly cumulative: readonly CumulativeCount[];
}

/** Two figures of the same latency: to the last digit printed, and as exact as the tool's histogram of three digits. */
const SAME_MS = 0.002;
const SAME_PART = 0.002;

const REPORT = /^====== (.*) ======$/;
const COUNT_LINE = /^\d+\.\d+% <= (\d+\.\d+) milliseconds \(cumulative count (\d+)\)$/;

/**
 * The reports in what the tool printed, in order.
 * @throws Failure when a report lacks something or there is none
 */
export function parseReports(text: string): LoadReport[] {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trimEnd());
  const starts = lines.flatMap((line, index) => (REPORT.test(line) ? [index] : []));
  if (starts.length === 0) throw notUnderstood("no report", text);
  return starts.map((start, index) => parseReport(lines.slice(start, starts[index + 1])));
}

/**
 * The one report there is.
 * @throws Failure when there are more, or it lacks something
 */
export function parseSingleReport(text: string): LoadReport {
  const reports = parseReports(text);
  const [report] = reports;
  if (report === undefined || reports.length > 1)
    throw new Failure(`valkey-benchmark printed ${reports.length} reports where one was asked for`);
  return report;
}

function parseReport(lines: readonly string[]): LoadReport {
  const text = lines.join("\n");
  const find = (pattern: RegExp, what: string): RegExpExecArray => {
    const match = pattern.exec(text);
    if (match === null) throw notUnderstood(`no ${what}`, text);
    return match;
  };
  const number = (value: string | undefined, what: string): number => {
    const result = Number(value);
    if (value === undefined || !Number.isFinite(result)) throw notUnderstood(`${what} is ${value ?? "missing"}`, text);
    return result;
  };
  const requests = number(
    find(/^ {2}(\d+) requests completed in \S+ seconds$/m, "count of requests")[1],
    "the count of requests",
  );
  const rate = number(
    find(/^ {2}throughput summary: (\S+) requests per second$/m, "throughput summary")[1],
    "the throughput",
  );
  // With a rate there is a table of the same heads before it, of requests per second.
  const summary = find(
    /^ *latency summary \(msec\):\n *avg +min +p50 +p95 +p99 +max\n *(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)$/m,
    "latency summary",
  );
  const [avgMs = 0, minMs = 0, p50Ms = 0, p95Ms = 0, p99Ms = 0, maxMs = 0] = summary
    .slice(1)
    .map((value) => number(value, "a latency"));
  const percentiles = countsUnder(lines, "Latency by percentile distribution:");
  const cumulative = countsUnder(lines, "Cumulative distribution of latencies:");
  if (percentiles.length === 0 || cumulative.length === 0) throw notUnderstood("no distribution of latencies", text);
  const slowest = percentiles.at(-1)?.ms ?? NaN;
  if (Math.abs(maxMs - slowest) > SAME_MS + SAME_PART * slowest)
    throw notUnderstood(`the slowest took ${maxMs} ms by the summary and ${slowest} ms by the distribution`, text);
  return {
    title: REPORT.exec(lines[0] ?? "")?.[1] ?? "",
    requests,
    rate,
    seconds: requests / rate,
    avgMs,
    minMs,
    p50Ms,
    p95Ms,
    p99Ms,
    maxMs,
    percentiles,
    cumulative,
  };
}

function countsUnder(lines: readonly string[], heading: string): CumulativeCount[] {
  const counts: CumulativeCount[] = [];
  for (const line of lines.slice(lines.indexOf(heading) + 1)) {
    const match = COUNT_LINE.exec(line);
    if (match === null) break;
    counts.push({ ms: Number(match[1]), count: Number(match[2]) });
  }
  return counts;
}

function notUnderstood(what: string, text: string): Failure {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/\brps=/.test(line));
  const quoted = lines
    .slice(-3)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join("\n");
  return new Failure(
    `valkey-benchmark printed something that is not understood: ${what}${quoted === "" ? " in no output at all" : `, in\n${quoted}`}`,
  );
}
