/** Every error becomes one message and an exit status. */
import { CommanderError } from "commander";
import { BadInput, Failure, Interrupted, messageOf } from "../lib/errors";
import { exitStatusOf } from "./terminal/interruption";
import { buildProgram } from "./program";
import { printError } from "./terminal/terminal";
import { COMMAND } from "../lib/system/package";

/** In this case nothing was started. */
const BAD_INPUT = 2;

export async function commandLine(args: readonly string[], signal: AbortSignal): Promise<number> {
  let status = 0;
  try {
    await buildProgram(signal, (result) => (status = result)).parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    printError(`${error.message.replace(/^error: /, "")}\nSee ${COMMAND} --help`);
    return BAD_INPUT;
  }
  if (error instanceof Interrupted) {
    printError(error.message);
    return exitStatusOf(error);
  }
  if (error instanceof BadInput || error instanceof Failure) {
    printError(error.message);
    return error instanceof BadInput ? BAD_INPUT : 1;
  }
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  printError(`Internal error (please report it): ${messageOf(error)}`, stack);
  return 1;
}
