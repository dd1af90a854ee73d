/** Reports of progress, and options for waits that report progress. */

/**
 * Shows a line of progress.
 * @param passing true for a line that matters only for the moment. A terminal shows such a line, a log does not
 */
export type ReportProgress = (line: string, passing?: boolean) => void;

/** Time limit of a wait, a signal that ends the wait early, and a function for reports. */
export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Function that is called with a description of the awaited condition. */
  readonly report: ReportProgress;
}
