/** What `npm start` runs: the command line, as a process that can be told to stop. */
import { commandLine } from "./cli";
import { listenForInterruption } from "./interruption";
import { printError } from "./terminal";

const { signal } = listenForInterruption(() => {
  printError("stopped at once; what was left running is stopped by the next run");
  process.exit(130);
});

// Servers that are kept are children still, and would keep this process waiting for them.
// What was written may still be on its way through a pipe.
void commandLine(process.argv.slice(2), signal).then((status) => process.stdout.write("", () => process.exit(status)));
