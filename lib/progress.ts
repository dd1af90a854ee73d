/** Reports of progress, and waits that report. */

/**
 * Shows a line of progress.
 * @param passing true for a line that matters only for the moment: a terminal shows it, a log does not
 */
export type ReportProgress = (line: string, passing?: boolean) => void;

/** How long to wait, what ends the wait early, and who is told. */
export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Told what is waited for. */
  readonly report: ReportProgress;
}
