import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../lib/system/package";
import ROOM_NAMES from "../../scripts/rooms.json";

const OTHER_FOLDERS = ["dist", "docs", "examples", "node_modules", "policies", "results", "scripts", "tests"];

describe("the rooms of the program", () => {
  it("are all the folders of the repository that hold the program", () => {
    const folders = readdirSync(ROOT).filter(
      (name) => !name.startsWith(".") && statSync(join(ROOT, name)).isDirectory(),
    );
    expect(folders.filter((name) => !OTHER_FOLDERS.includes(name)).sort()).toEqual([...ROOM_NAMES].sort());
  });
});
