/** Reports of progress, and options for functions that wait and report their progress. */

/**
 * Shows a line of progress.
 * @param passing true for a line that matters only for a moment. A terminal shows such a line, but a log does not
 */
export type ReportProgress = (line: string, passing?: boolean) => void;

/** Time limit of a wait, a signal that ends the wait early, and a function for reports. */
export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with a description of the awaited condition. */
  readonly report: ReportProgress;
}
