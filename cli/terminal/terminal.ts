/** Writing to the terminal. */

/** Writes lines to standard output. */
export function print(...lines: string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** Writes lines to standard error. */
export function printError(...lines: string[]): void {
  process.stderr.write(lines.map((line) => `${line}\n`).join(""));
}
