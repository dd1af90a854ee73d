/** Errors for the user, of whom only the message is printed. All other errors are defects of this program. */

/** A problem of the input. */
export interface Problem {
  /** Kind of the problem in kebab-case, such as `zone-twice`. Unlike the message, it does not change. */
  readonly code: string;
  /** Path of the wrong value, as the user writes it. Empty if the problem is not about one value. */
  readonly path: string;
  /**
   * The problem and the allowed values. A message that begins with a space or a comma continues the path. Every other
   * message follows a colon.
   */
  readonly message: string;
}

export function problem(code: string, path: string, message: string): Problem {
  return { code, path, message };
}

export function problemText({ path, message }: Problem): string {
  return path === "" ? message : `${path}${/^[ ,]/.test(message) ? "" : ": "}${message}`;
}

export function within(path: string, problems: readonly Problem[]): Problem[] {
  return problems.map((each) => ({ ...each, path: each.path === "" ? path : `${path}.${each.path}` }));
}

/** Invalid input. The message contains all problems that were found. The exit status is 2. */
export class BadInput extends Error {
  constructor(
    readonly subject: string,
    readonly problems: readonly Problem[],
  ) {
    const texts = problems.map(problemText);
    super(
      texts.length === 1
        ? `${subject}: ${texts[0] ?? ""}`
        : `${subject}:\n${texts.map((text) => `  - ${text}`).join("\n")}`,
    );
    this.name = "BadInput";
  }

  /**
   * Input with one problem, or with several problems of one kind.
   * @param path path of the wrong value; empty if the problem is not about one value
   */
  static of(subject: string, code: string, messages: string | readonly string[], path = ""): BadInput {
    return new BadInput(
      subject,
      [messages].flat().map((message) => problem(code, path, message)),
    );
  }
}

/** A failure outside the program, such as a server that exited or a full disk. The exit status is 1. */
export class Failure extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "Failure";
  }
}

export function isCausedBy(error: unknown, kind: new (...values: never) => Error): boolean {
  if (error instanceof kind) return true;
  if (error instanceof AggregateError) return error.errors.some((each: unknown) => isCausedBy(each, kind));
  return error instanceof Error && error.cause !== undefined && isCausedBy(error.cause, kind);
}

export class Interrupted extends Error {
  constructor(readonly signal: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE") {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
