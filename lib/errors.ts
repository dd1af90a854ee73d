/** Errors that are said in one message, without a stack trace. Anything else that is thrown is a defect. */

/** Input that cannot be used: every problem found, each naming where it is and what would be allowed. Exit status 2. */
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

/** Something outside failed: a server died, a tool refused, a disk is full. Exit status 1. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
  }
}

/** The run was told to stop. Exit status 128 + the signal's number. */
export class Interrupted extends Error {
  constructor(readonly signal: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE") {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Node's code of a system error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
