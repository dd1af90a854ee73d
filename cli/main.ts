#!/usr/bin/env node
import { remainders } from "../lib/system/remainders";
import { commandLine } from "./cli";
import { listenForInterruption } from "./terminal/interruption";
import { printError } from "./terminal/terminal";

const { signal } = listenForInterruption(() => {
  const left = [...remainders].flatMap((describe) => describe());
  printError("stopped at once; servers that this run started may still run, and the next run stops them", ...left);
  process.exit(130);
});

// exit() is needed because servers that are kept running are child processes and would keep this process alive. The
// call comes after an empty write, which completes when a pipe has taken all output.
void commandLine(process.argv.slice(2), signal).then((status) => process.stdout.write("", () => process.exit(status)));
