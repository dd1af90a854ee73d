/** Draws docs/architecture.svg: the rooms of rooms.json with their folders, and arrows for imports between rooms. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { preProcessFile } from "typescript";
import ROOMS from "./rooms.json";

const ROOT = resolve(__dirname, "..");

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

/** It depends only on folders and imports. */
export function architectureSvg(): string {
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
