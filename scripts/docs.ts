/** `npm run docs`: generates the schemas, the reference pages and the drawing of the architecture. */
import { readFileSync, writeFileSync, readdirSync } from "node:fs";
import { join, dirname, relative } from "node:path";
import type { Argument, Command, Option } from "commander";
import { preProcessFile } from "typescript";
import ROOMS from "./rooms.json";
import { buildProgram } from "../cli/program";
import { ROOT } from "../lib/system/package";
import type { AssertionRow } from "../valkey/verification/assertion-row";
import { ASSERTIONS } from "../valkey/verification/assertions";
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

interface Room {
  readonly name: string;
  readonly folders: readonly string[];
  readonly imports: ReadonlySet<string>;
}

function readRooms(): Room[] {
  const names = Object.keys(ROOMS);
  return Object.entries(ROOMS).map(([name, { folders: paths }]) => {
    const others = sourceFiles(join(ROOT, name))
      .flatMap(importedRooms)
      .filter((target) => target !== name && names.includes(target));
    const folders = paths.flatMap((path) => path.split("/")[1] ?? []);
    return { name, folders: [...new Set(folders)], imports: new Set(others) };
  });
}

function sourceFiles(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"));
  return files.map((entry) => join(entry.parentPath, entry.name));
}

function importedRooms(file: string): string[] {
  const { importedFiles } = preProcessFile(readFileSync(file, "utf8"), true, true);
  const local = importedFiles.filter(({ fileName }) => fileName.startsWith("."));
  return local.map(({ fileName }) => relative(ROOT, join(dirname(file), fileName)).split("/")[0] ?? "");
}

const ROOM = { x: 24, width: 780, height: 64, gap: 26 } as const;
const EDGE = ROOM.x + ROOM.width;
const WIDTH = 1080;
const MAX_CHARACTERS = 122;

/** Draws the rooms of rooms.json with their folders, and arrows for imports between rooms. */
function architectureSvg(): string {
  const rooms = readRooms();
  const top = (index: number): number => 24 + index * (ROOM.height + ROOM.gap);
  const boxes = rooms.map(({ name, folders }, index) => roomBox(name, folders, top(index)));
  const arrows = rooms.flatMap(({ imports }, from) =>
    rooms.flatMap(({ name }, to) => (imports.has(name) ? [arrow(from, to, top)] : [])),
  );
  const height = top(rooms.length) + 10;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif">`,
    `<title>The rooms of the program and which imports from which</title>`,
    `<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#52606d"/></marker></defs>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...arrows,
    ...boxes,
    `</svg>`,
    "",
  ].join("\n");
}

function roomBox(name: string, folders: readonly string[], y: number): string {
  const inside = folders.map((folder) => `${folder}/`).join("  ");
  const text = inside.length > MAX_CHARACTERS ? `${inside.slice(0, MAX_CHARACTERS - 1)}…` : inside;
  return [
    `<rect x="${ROOM.x}" y="${y}" width="${ROOM.width}" height="${ROOM.height}" rx="8" fill="#f0f4f8" stroke="#9fb3c8"/>`,
    `<text x="${ROOM.x + 16}" y="${y + 27}" font-size="18" font-weight="600" fill="#102a43">${name}/</text>`,
    `<text x="${ROOM.x + 16}" y="${y + 49}" font-size="12.5" fill="#486581" xml:space="preserve">${text}</text>`,
  ].join("\n");
}

/** Straight between neighbours, otherwise an arc. The more rooms it passes, the further it reaches to the right. */
function arrow(from: number, to: number, top: (index: number) => number): string {
  const style = `fill="none" stroke="#52606d" stroke-width="1.3" marker-end="url(#head)"`;
  if (to - from === 1) {
    const x = ROOM.x + ROOM.width / 2;
    return `<path d="M${x} ${top(from) + ROOM.height} V${top(to) - 1}" ${style}/>`;
  }
  const start = top(from) + ROOM.height / 2 + 3 * (to - from);
  const end = top(to) + ROOM.height / 2 - 3 * (to - from);
  const reach = EDGE + 34 * (to - from);
  return `<path d="M${EDGE} ${start} C${reach} ${start} ${reach} ${end} ${EDGE + 2} ${end}" ${style}/>`;
}

if (require.main === module) writeGeneratedFiles();
