/** `npm run docs`: generates the schemas, the reference pages and the drawing of the architecture. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Argument, Command, Option } from "commander";
import { buildProgram } from "../cli/program";
import { ROOT } from "../lib/system/package";
import type { AssertionRow } from "../valkey/verification/assertion-row";
import { ASSERTIONS } from "../valkey/verification/assertions";
import { architectureSvg } from "./architecture";
import { componentReference } from "./components/component-reference";
import { packageSchema } from "./components/package-schema";
import { readComponents } from "./components/read-components";
import { configurationReference } from "./configuration-reference";
import { stackFileSchema } from "./stack-file-schema";

const INTRODUCTION = `# Commands

<!-- Made by npm run docs from cli/program.ts and cli/running/options.ts. Change it there. -->

Every command is \`npm start -- COMMAND\`. \`npm start\` without a command is \`npm start -- run local\`. The exit status is 0 for
success, 1 for a failed verification or an incomplete run, and 2 for wrong input (nothing was started). For a run that a signal interrupts,
it is 128 plus the number of the signal.

In a checkout, \`npx valkey-measured COMMAND\` does the same as \`npm start -- COMMAND\`. It prints no lines of npm before the output, so with \`--json\`
the whole output is JSON. If stdout is not a terminal, progress goes to stderr. These two lines make bash complete commands, options and stacks; the
command \`completion\` knows zsh and fish too:

\`\`\`
alias valkey-measured="npx valkey-measured"
source <(npx valkey-measured completion bash)
\`\`\`
`;

/** Texts of all files that this script writes, by path in the repository. */
export function generatedFiles(): Readonly<Record<string, string>> {
  const components = readComponents();
  return {
    "components/plugin/schema.json": `${JSON.stringify(packageSchema(components), null, 1)}\n`,
    "docs/components.md": componentReference(components),
    "stacks/schema.json": `${JSON.stringify(stackFileSchema(), null, 1)}\n`,
    "docs/configuration.md": configurationReference(),
    "docs/architecture.svg": architectureSvg(),
    "docs/troubleshooting.md": withAssertions(readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8")),
    "docs/cli.md": commandReference(buildProgram(new AbortController().signal, () => undefined)),
  };
}

function writeGeneratedFiles(): void {
  for (const [path, text] of Object.entries(generatedFiles())) {
    writeFileSync(join(ROOT, path), text);
    process.stdout.write(`${path}\n`);
  }
}

/** @param page with the two comments between which the table of assertions stands */
function withAssertions(page: string): string {
  const [, before = "", after = ""] =
    /^([^]*<!-- assertions: .* -->\n)[^]*(<!-- end of assertions -->\n[^]*)$/.exec(page) ?? [];
  const rows = Object.entries<AssertionRow>(ASSERTIONS).map(([id, { cause, repair, next }]) => {
    const own = repair?.startsWith("heals") ? `repaired; ${next.own}` : next.own;
    return `| \`${id}\` | ${[cause, own, next.others].map((text) => text.replaceAll("|", "\\|")).join(" | ")} |\n`;
  });
  const head =
    "| assertion | cause | next, in pods of this project | next, on all other servers |\n|---|---|---|---|\n";
  return before + head + rows.join("") + after;
}

function commandReference(program: Command): string {
  const seen = new Map<string, string>();
  return [INTRODUCTION, ...program.commands.map((command) => commandSection(command, seen))].join("\n");
}

/** @param seen first command with each table of options, by text of the table */
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

if (require.main === module) writeGeneratedFiles();
