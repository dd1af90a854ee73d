/**
 * `npm run build`, and the first step of `npm pack`: writes the package's code to `dist`, in the folders of the rooms.
 * Compiled files, their declarations, the files that they read, and the open-loop generator as one file.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { BUNDLE_FILE, generatorBundle } from "../benchmarks/load/open-loop/bundle";
import { ROOT } from "../lib/system/package";
import FOLDERS from "./rooms.json";

const OUTPUT = join(ROOT, "dist");
/** Rooms whose other files the package has where the checkout has them. */
const IN_PLACE = ["cli", "plugin", "stacks"];

/** By the native compiler, a program of its own, which takes a fifth of the other one's time. */
function compile(): void {
  rmSync(OUTPUT, { recursive: true, force: true });
  const compiler = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");
  execFileSync(process.execPath, [compiler, "--project", join(ROOT, "tsconfig.build.json")], { stdio: "inherit" });
}

/** Shell scripts, Lua, JSON and the like: everything that is not compiled, beside the code that reads it. */
function copyOtherFiles(): void {
  for (const room of Object.keys(FOLDERS).filter((name) => !IN_PLACE.includes(name)))
    for (const entry of readdirSync(join(ROOT, room), { withFileTypes: true, recursive: true })) {
      const path = relative(ROOT, join(entry.parentPath, entry.name));
      const isNeeded = entry.isFile() && !entry.name.endsWith(".ts");
      if (isNeeded) cpSync(join(ROOT, path), join(OUTPUT, path));
    }
}

async function main(): Promise<void> {
  compile();
  copyOtherFiles();
  writeFileSync(join(OUTPUT, "benchmarks", "load", "open-loop", BUNDLE_FILE), await generatorBundle());
}

void main();
