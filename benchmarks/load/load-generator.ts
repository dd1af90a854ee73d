import { messageOf } from "../../lib/errors";
import { Histogram } from "../../lib/histogram";
import { formatPercent } from "../../lib/units";
import type { Warning } from "../results/schema";
import { type LoadOutcome, type LoadReport, LoadGeneratorFailure } from "./load-driver";
import { latencySummary, mergeReports, openLoopCounts } from "./merge-reports";
import { Tally } from "./tally";

export interface ParsedOutput {
  readonly report: LoadReport;
  readonly latencies?: Histogram;
  readonly tally?: Tally;
  readonly period?: { readonly fromMs: number; readonly toMs: number };
  readonly trailingMs?: number;
  readonly warnings: readonly Warning[];
}

export interface LoadGenerator<R> {
  readonly program: string;
  readonly threads: (run: R) => number;
  /** A load generator that runs longer counts as hanging. */
  readonly timeoutSeconds: (run: R) => number;
  /** @throws Failure if the output cannot be parsed */
  readonly parse: (text: string, run: R) => ParsedOutput;
}

export function parsedOutput<T>(parse: () => T, text: string, where: string): T {
  try {
    return parse();
  } catch (error) {
    throw new LoadGeneratorFailure(`${where}${messageOf(error)}`, text, { cause: error });
  }
}

/** Rates are added. Percentiles come from histograms if all have one, otherwise from the sum of the counts. */
export function mergeOutputs(outputs: readonly ParsedOutput[]): Pick<LoadOutcome, "report" | "latencies" | "offering"> {
  const report = mergeReports(outputs.map((output) => output.report));
  const histograms = outputs.flatMap(({ latencies }) => latencies ?? []);
  const tallies = outputs.flatMap(({ tally }) => tally ?? []);
  if (histograms.length < outputs.length) return { report };
  const latencies = Histogram.merge(histograms);
  const offering = tallies.length === 0 ? undefined : openLoopCounts(Tally.merge(tallies), report.seconds);
  return { report: { ...report, ...latencySummary(report.title, latencies) }, latencies, offering };
}

export interface GeneratorMeasurement {
  readonly name: string;
  readonly machine: string;
  readonly seed: number;
  readonly output: ParsedOutput;
  readonly fromMs: number;
  readonly toMs: number;
  readonly cpu: number | null;
}

export function recordedRunner({ name, machine, seed, output, cpu }: GeneratorMeasurement): Runner {
  const { requests, rate, seconds, p99Ms } = output.report;
  return { name, machine, seed, requests, rps: rate, seconds, p99Ms, cpu };
}

type Runner = LoadOutcome["runners"][number];

/** With a smaller common part, the sum of the rates is higher than the real rate, and the result has a warning. */
const COMMON_PART = 0.95;

export function commonTimeWarnings(
  measured: readonly Pick<GeneratorMeasurement, "fromMs" | "toMs">[],
  text: (part: string) => string,
): Warning[] {
  const begun = measured.map(({ fromMs }) => fromMs);
  const ended = measured.map(({ toMs }) => toMs);
  const common = Math.max(0, Math.min(...ended) - Math.max(...begun));
  const part = common / (Math.max(...ended) - Math.min(...begun));
  if (part >= COMMON_PART) return [];
  return [{ code: "runners-apart", text: text(`only ${formatPercent(part)} of the measurement`) }];
}
