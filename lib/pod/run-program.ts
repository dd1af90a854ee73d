import { readFile } from "node:fs/promises";
import { messageOf } from "../errors";
import { CHECKSUM_VARIABLE } from "./settings-text";

export function logLine(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

interface ProgramStart {
  readonly settings: string;
  readonly checksum: string | undefined;
  readonly signal: AbortSignal;
}

export function runProgram(program: (start: ProgramStart) => Promise<void>): void {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"])
    process.once(signal, () => {
      stop.abort();
    });
  const run = async (): Promise<void> => {
    const settings = await readFile(process.argv.at(-1) ?? "", "utf8");
    await program({ settings, checksum: process.env[CHECKSUM_VARIABLE], signal: stop.signal });
  };
  run().catch((error: unknown) => {
    logLine(messageOf(error));
    process.exitCode = 1;
  });
}
