/** Generates `docs/cli.md`: every command with its arguments and options, from commander. Pure. */
import type { Argument, Command, Option } from "commander";

const INTRODUCTION = `# Commands

<!-- Made by npm run docs from cli/program.ts and the options beside it. Change it there. -->

Every command is \`npm start -- COMMAND\`. \`npm start\` without a command is \`npm start -- run local\`. The exit status is 0 for
success, 1 for a failed verification or an incomplete run, and 2 for wrong input (nothing was started). For a run that a signal interrupts,
it is 128 plus the number of the signal.
`;

/** The whole text of docs/cli.md. */
export function commandReference(program: Command): string {
  const seen = new Map<string, string>();
  return [INTRODUCTION, ...program.commands.map((command) => commandSection(command, seen))].join("\n");
}

/** The section of one command. @param seen first command with each table of options, by text of the table */
function commandSection(command: Command, seen: Map<string, string>): string {
  const parts = [`## ${command.name()}\n`, `${command.description()}.\n`, `\`npm start -- ${usage(command)}\`\n`];
  const args = command.registeredArguments.map(argumentLine);
  if (args.length > 0) parts.push(args.join(""));
  for (const [heading, options] of groups(command)) {
    const table = `| option | meaning |\n|---|---|\n${options.map(line).join("")}`;
    const first = seen.get(table);
    seen.set(table, first ?? command.name());
    parts.push(
      `${heading}\n`,
      first === undefined || options.length < 3 ? table : `The same options as those of [${first}](#${first}).\n`,
    );
  }
  return parts.join("\n");
}

function argumentLine(argument: Argument): string {
  const standard: unknown = argument.defaultValue;
  const suffix = typeof standard === "string" ? ` (default: ${standard})` : "";
  return `- \`${argument.name()}\`: ${argument.description}${suffix}\n`;
}

function usage(command: Command): string {
  return `${command.name()} ${command.usage()}`;
}

function groups(command: Command): Map<string, Option[]> {
  const groups = new Map<string, Option[]>();
  for (const option of command.options) {
    const heading = option.helpGroupHeading ?? "Options:";
    groups.set(heading, [...(groups.get(heading) ?? []), option]);
  }
  return groups;
}

function line(option: Option): string {
  const description = option.description.replaceAll("|", "\\|");
  return `| \`${option.flags.replaceAll("|", "\\|")}\` | ${description} |\n`;
}
