export function print(...lines: string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

export function printError(...lines: string[]): void {
  process.stderr.write(lines.map((line) => `${line}\n`).join(""));
}
