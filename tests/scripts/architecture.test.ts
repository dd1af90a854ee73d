/** Every folder with source files has its place in the order that the lint holds. */
import { readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../lib/system/package";
import ROOMS from "../../scripts/rooms.json";

const OTHER_FOLDERS = ["bench", "dist", "docs", "examples", "node_modules", "policies", "results", "scripts", "tests"];

function foldersWithSources(room: string): string[] {
  const entries = readdirSync(join(ROOT, room), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"));
  return [...new Set(files.map((entry) => relative(ROOT, dirname(join(entry.parentPath, entry.name)))))];
}

describe("the order of rooms and folders", () => {
  it("has every room", () => {
    const folders = readdirSync(ROOT).filter(
      (name) => !name.startsWith(".") && statSync(join(ROOT, name)).isDirectory(),
    );
    expect(folders.filter((name) => !OTHER_FOLDERS.includes(name)).sort()).toEqual(Object.keys(ROOMS).sort());
  });

  it.each(Object.entries(ROOMS))("has every folder of %s that has source files", (room, { folders }) => {
    expect(foldersWithSources(room).sort()).toEqual([...folders].sort());
  });
});
