/**
 * Shows a line of progress.
 * @param passing true for a line that matters only for a moment. A terminal shows such a line, but a log does not
 */
export type ReportProgress = (line: string, passing?: boolean) => void;

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}
