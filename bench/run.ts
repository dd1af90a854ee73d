/**
 * `npm run bench`: measures the project's own speed and exactness beside the tools that one would use instead. Prints a
 * table and writes bench.json; exit status 1 when a target is missed.
 */
import { listenForInterruption } from "../cli/terminal/interruption";
import { printError } from "../cli/terminal/terminal";
import { benchCommand } from "./bench-command";

const { signal } = listenForInterruption(() => {
  printError("stopped at once; the next run stops the processes that are left");
  process.exit(130);
});

void benchCommand(process.argv.slice(2), signal).then(
  (status) => process.exit(status),
  (error: unknown) => {
    printError(
      `Internal error (please report it): ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    process.exit(1);
  },
);
