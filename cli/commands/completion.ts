import type { Command } from "commander";
import { BadInput } from "../../lib/errors";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { stackNames, studyNames } from "../../stacks/config/sections/stack-file";
import { print } from "../terminal/terminal";

export const SHELLS = ["bash", "zsh", "fish"] as const;
const NAME = "valkey-measured";

/** zsh runs completions of bash after this. */
const ZSH_PRELUDE =
  "(( $+functions[compdef] )) || { autoload -U compinit && compinit; }; autoload -U bashcompinit && bashcompinit";

interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly { readonly flag: string; readonly description: string; readonly takesValue: boolean }[];
  /** Allowed values of the first argument. */
  readonly words: readonly string[];
}

/** Values of an argument, by its name. */
const WORDS: Readonly<Record<string, (directory: string) => string[]>> = { stack: stackNames, study: studyNames };

export function printCompletion(shell: string, { commands }: Command): number {
  const completed = commands.map(completedCommand);
  if (shell === "fish") print(...fishScript(completed));
  else if (shell === "bash") print(...bashScript(completed));
  else if (shell === "zsh") print(ZSH_PRELUDE, ...bashScript(completed));
  else throw BadInput.of("completion", "unknown-shell", `${shell} is not one of ${SHELLS.join(", ")}`);
  return 0;
}

function completedCommand(command: Command): CompletedCommand {
  const [first] = command.registeredArguments;
  return {
    name: command.name(),
    description: command.description(),
    options: command.options.map(({ long, description, required: takesValue }) => ({
      flag: long ?? "",
      description,
      takesValue,
    })),
    words: WORDS[first?.name() ?? ""]?.(STACKS_DIRECTORY) ?? [],
  };
}

/** After an option with a value, and where no word is known, the shell completes names of files. */
function bashScript(commands: readonly CompletedCommand[]): string[] {
  const flags = (options: CompletedCommand["options"]): string => options.map(({ flag }) => flag).join(" ");
  return [
    "_valkey_measured() {",
    '  local command="${COMP_WORDS[1]}" before="${COMP_WORDS[COMP_CWORD-1]}" words valued',
    '  [ "$COMP_CWORD" -eq 1 ] && command=',
    '  case "$command" in',
    ...commands.map(
      ({ name, options, words }) =>
        `    ${name}) words="${flags(options)} ${words.join(" ")}" valued="${flags(options.filter(({ takesValue }) => takesValue))}";;`,
    ),
    `    *) words="${[...commands.map(({ name }) => name), ...stackNames(STACKS_DIRECTORY)].join(" ")} --help --version";;`,
    "  esac",
    '  case " $valued " in *" $before "*) words=;; esac',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    `complete -o default -F _valkey_measured ${NAME}`,
  ];
}

function fishScript(commands: readonly CompletedCommand[]): string[] {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const complete = `complete -c ${NAME}`;
  const ofCommands = commands.flatMap(({ name, description, options, words }) => {
    const during = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `${complete} -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
      ...(words.length === 0 ? [] : [`${complete} ${during} -f -a ${quoted(words.join(" "))}`]),
      ...options.map(
        ({ flag, description: meaning, takesValue }) =>
          `${complete} ${during} -l ${flag.replace(/^--/, "")}${takesValue ? " -r" : ""} -d ${quoted(meaning)}`,
      ),
    ];
  });
  const stacks = `${complete} -n __fish_use_subcommand -a ${quoted(stackNames(STACKS_DIRECTORY).join(" "))} -d stack`;
  return [...ofCommands, stacks];
}
