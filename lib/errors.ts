/** Errors that are printed as one message, without a stack trace. Any other error is a defect of the program. */

/** Invalid input: all problems found, each with its path and what is allowed. Exit status 2. */
export class BadInput extends Error {
  constructor(
    readonly subject: string,
    readonly problems: readonly string[],
  ) {
    super(
      problems.length === 1
        ? `${subject}: ${problems[0] ?? ""}`
        : `${subject}:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`,
    );
    this.name = "BadInput";
  }
}

/** A failure outside the program: a server that exited, a full disk. Exit status 1. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
  }
}

/** Whether an error is of a class, or any of its causes is. */
export function isCausedBy(error: unknown, kind: new (...values: never) => Error): boolean {
  if (error instanceof kind) return true;
  if (error instanceof AggregateError) return error.errors.some((each: unknown) => isCausedBy(each, kind));
  return error instanceof Error && error.cause !== undefined && isCausedBy(error.cause, kind);
}

/** A signal stopped the run. Exit status 128 + the signal's number. */
export class Interrupted extends Error {
  constructor(readonly signal: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE") {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a system error, such as `ENOENT`; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
