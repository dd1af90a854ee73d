/** Reports of progress. */

/**
 * Shows a line of progress.
 * @param passing true for a line that matters only for the moment: a terminal shows it, a log does not
 */
export type ReportProgress = (line: string, passing?: boolean) => void;
