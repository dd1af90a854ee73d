/** How what is under way is told to whoever watches. */

/**
 * @param line what is being done, or what came of it
 * @param passing true for what is only of interest while it lasts: shown on a terminal, left out of a log
 */
export type ReportProgress = (line: string, passing?: boolean) => void;
