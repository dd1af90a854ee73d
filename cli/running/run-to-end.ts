/** The skeleton of a command's run: the work, the end of its servers, and its results, even after a failure. */
import { BadInput, messageOf } from "../../lib/errors";
import { renderReport } from "../../benchmarks/report/page";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Results } from "../../benchmarks/results/schema";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { type RunDescription, ResultsCollector } from "../../benchmarks/run/collector";
import { formatVerification, verdictLine } from "../../valkey/verification/format";
import type { Verification } from "../../valkey/verification/verify";
import { print, printError } from "../terminal/terminal";

interface Run<Result> {
  /** @returns reason why the results are incomplete; null if they are complete */
  readonly execute: () => Promise<string | null>;
  readonly causeOf: (error: unknown) => unknown;
  readonly stop?: () => Promise<void>;
  readonly finish: (reason: string | null, error: unknown) => Result;
}

/** The results are finished even if the servers cannot be stopped. @returns what `finish` returns */
export async function runToEnd<Result>({ execute, causeOf, stop, finish }: Run<Result>): Promise<Result> {
  let reason: string | null = null;
  let cause: unknown;
  let result: Result;
  try {
    reason = await execute();
  } catch (error) {
    cause = causeOf(error);
    reason = messageOf(cause);
    throw cause;
  } finally {
    try {
      await stop?.();
    } finally {
      result = finish(reason, cause);
    }
  }
  return result;
}

export interface ResultsRun {
  readonly verifications: readonly Verification[];
  execute(): Promise<void>;
  stop(): Promise<void>;
}

export function havePassed(verifications: readonly Verification[]): boolean {
  return verifications.length > 0 && verifications.every(({ verdict }) => verdict.pass);
}

/**
 * @param causeOf returns the error to report in place of an error
 * @param describe lines before the path of the report
 * @returns exit status: 0 if every deployment passed verification and nothing stays on servers of others, else 1
 */
export async function runWithResults(
  { output, ...description }: Omit<RunDescription, "timestamp"> & { readonly output: string | undefined },
  causeOf: Run<unknown>["causeOf"],
  begin: (collector: ResultsCollector) => ResultsRun,
  failure = "nothing was measured",
  describe = describeMeasurements,
): Promise<number> {
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(process.cwd(), timestamp, output, renderReport);
  const collector = new ResultsCollector(artifacts, { timestamp, ...description });
  const run = begin(collector);
  const { verifications } = run;
  return runToEnd({
    causeOf,
    stop: () => run.stop(),
    execute: async () => {
      await run.execute();
      return havePassed(verifications) ? null : `verification failed; ${failure}`;
    },
    finish: (incomplete, error) => {
      const { afterwards, leftBehind } = collector;
      try {
        // If the input was refused, nothing was started, and there are no results.
        if (!(error instanceof BadInput) && !collector.isEmpty) {
          const results = collector.finish(incomplete);
          printFailures(verifications, failure);
          printFailures(afterwards, "the measurements were made before");
          print("", ...describe(results, incomplete === null, afterwards.length === 0 ? verifications : afterwards));
          if (incomplete === null) print(`Report: ${shortPath(artifacts.path("report.html"))}`);
          else print(`Partial results (marked incomplete): ${shortPath(artifacts.directory)}`);
        }
      } finally {
        // What stays on servers that outlive the command is said even if the results cannot be written.
        artifacts.release();
        if (leftBehind.length > 0) printError("", ...leftBehind);
      }
      return incomplete === null && leftBehind.length === 0 && afterwards.every(({ verdict }) => verdict.pass) ? 0 : 1;
    },
  });
}

function describeMeasurements(results: Results, isComplete: boolean, verifications: readonly Verification[]): string[] {
  return isComplete ? [...formatSummary(results), "", ...verifications.map(({ verdict }) => verdictLine(verdict))] : [];
}

export function printFailures(verifications: readonly Verification[], meaning: string): void {
  const failed = verifications.filter(({ verdict }) => !verdict.pass);
  for (const verification of failed) print("", ...formatVerification(verification));
  if (failed.length > 0) print("", `Verification failed; ${meaning}.`);
}
