/**
 * Errors for the user. The program prints only the message of such an error, without a stack trace. All other errors
 * are defects of this program.
 */

/**
 * Invalid input. The message contains all problems that were found. Each problem has a path and the allowed values. The
 * exit status is 2.
 */
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

/** A failure outside the program, such as a server that exited or a full disk. The exit status is 1. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
  }
}

/** Whether an error or any of its causes is an instance of a class. */
export function isCausedBy(error: unknown, kind: new (...values: never) => Error): boolean {
  if (error instanceof kind) return true;
  if (error instanceof AggregateError) return error.errors.some((each: unknown) => isCausedBy(each, kind));
  return error instanceof Error && error.cause !== undefined && isCausedBy(error.cause, kind);
}

/** A signal stopped the run. The exit status is 128 plus the number of the signal. */
export class Interrupted extends Error {
  constructor(readonly signal: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE") {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a system error, such as `ENOENT`. Undefined for all other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
