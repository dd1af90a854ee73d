/** Part of `npm run lint`: no room has more lines of source than `lines` in rooms.json allows. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { printError } from "../cli/terminal/terminal";
import ROOMS from "./rooms.json";

const ROOT = resolve(__dirname, "..");
const IS_SOURCE = /\.(ts|sh|cjs|mjs)$/;

export function tooLarge(
  lines: Readonly<Record<string, number>>,
  rooms: Readonly<Record<string, { readonly lines: number }>> = ROOMS,
): string[] {
  return Object.entries(rooms).flatMap(([name, { lines: most }]) => {
    const has = lines[name] ?? 0;
    return has <= most
      ? []
      : [
          `${name}/ has ${has} lines, and may have ${most}: take something away, or raise "lines" in scripts/rooms.json`,
        ];
  });
}

function linesOf(room: string): number {
  return readdirSync(join(ROOT, room), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && IS_SOURCE.test(entry.name) && !entry.parentPath.includes("node_modules"))
    .reduce(
      (sum, { parentPath, name }) => sum + readFileSync(join(parentPath, name), "utf8").split("\n").length - 1,
      0,
    );
}

if (require.main === module) {
  const problems = tooLarge(Object.fromEntries(Object.keys(ROOMS).map((room) => [room, linesOf(room)])));
  if (problems.length > 0) printError(...problems);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
