/**
 * `npm run bench`: what this project promises of its own speed and exactness, measured beside what there was before.
 * Prints a table and writes bench.json; exit status 1 when a target is missed.
 */
import { listenForInterruption } from "../../cli/interruption";
import { printError } from "../../cli/terminal";
import { benchCommand } from "./bench-command";

const { signal } = listenForInterruption(() => {
  printError("stopped at once; what was left running is stopped by the next run");
  process.exit(130);
});

void benchCommand(process.argv.slice(2), signal).then(
  (status) => process.exit(status),
  (error: unknown) => {
    printError(
      `This is a defect of the program: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    process.exit(1);
  },
);
