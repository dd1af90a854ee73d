import { type Command, CommanderError } from "commander";
import { didYouMean } from "../lib/did-you-mean";
import { BadInput, Failure, Interrupted, messageOf } from "../lib/errors";
import { exitStatusOf } from "./terminal/interruption";
import { buildProgram } from "./program";
import { printError } from "./terminal/terminal";
import { COMMAND } from "../lib/system/package";

const BAD_INPUT = 2;

export async function commandLine(args: readonly string[], signal: AbortSignal): Promise<number> {
  let status = 0;
  let help = "--help";
  try {
    const program = buildProgram(signal, (result) => (status = result));
    await refuseUnknownCommand(args[0], program);
    if (program.commands.some((command) => command.name() === args[0])) help = `${args[0] ?? ""} --help`;
    noteLinesOfNpm(args);
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    return explain(error, help);
  }
}

/** Without a command, the first word is a stack of the default command. */
async function refuseUnknownCommand(word: string | undefined, { commands }: Command): Promise<void> {
  const names = ["help", ...commands.map((command) => command.name())];
  if (word === undefined || word.startsWith("-") || names.includes(word)) return;
  const { stackNames } = await import("../stacks/config/sections/stack-file.js");
  const { STACKS_DIRECTORY } = await import("../stacks/config/sections/paths.js");
  const stacks = stackNames(STACKS_DIRECTORY);
  if (stacks.includes(word)) return;
  const meant = didYouMean(word, [...names, ...stacks]);
  const known = `Commands: ${names.join(", ")}. Stacks: ${stacks.join(", ")}`;
  throw BadInput.of("command", "no-such-command", `there is no command or stack ${word};${meant} ${known}`);
}

/** `npm start` prints two lines of its own before the JSON, and no program can prevent this. */
function noteLinesOfNpm(args: readonly string[]): void {
  const { npm_lifecycle_event: script, npm_config_loglevel: level } = process.env;
  if (!args.includes("--json") || script !== "start" || level === "silent" || process.stdout.isTTY) return;
  printError("npm start prints two lines before the JSON; npx valkey-measured prints only the JSON");
}

/** @param help options that print the help of the command */
function explain(error: unknown, help: string): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    printError(`${error.message.replace(/^error: /, "")}\nSee ${COMMAND} ${help}`);
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
