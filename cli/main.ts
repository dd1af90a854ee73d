#!/usr/bin/env node
/** The program of `npm start`, and of `valkey-measured` in the package: runs one command, and ends with its exit status. */
import { commandLine } from "./cli";
import { listenForInterruption } from "./terminal/interruption";
import { printError } from "./terminal/terminal";

const { signal } = listenForInterruption(() => {
  printError("stopped at once; the next run stops the processes that are left");
  process.exit(130);
});

// Servers that were kept are child processes, and would keep this process alive: it ends by exit().
// The write waits until a pipe has taken all output.
void commandLine(process.argv.slice(2), signal).then((status) => process.stdout.write("", () => process.exit(status)));
