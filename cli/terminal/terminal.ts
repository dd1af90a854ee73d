/** Writing to the terminal. */

/** A line each to standard output. */
export function print(...lines: string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** A line each to standard error. */
export function printError(...lines: string[]): void {
  process.stderr.write(lines.map((line) => `${line}\n`).join(""));
}
