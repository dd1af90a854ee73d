#!/usr/bin/env node
import { commandLine } from "./cli";
import { listenForInterruption } from "./terminal/interruption";
import { printError } from "./terminal/terminal";

const { signal } = listenForInterruption(() => {
  printError(
    "stopped at once; servers may still run, and the next run stops them; on servers that were measured, keys and users may stay, and the next measure finds them",
  );
  process.exit(130);
});

// exit() is needed because servers that are kept running are child processes and would keep this process alive. The
// call comes after an empty write, which completes when a pipe has taken all output.
void commandLine(process.argv.slice(2), signal).then((status) => process.stdout.write("", () => process.exit(status)));
