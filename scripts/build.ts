/** `npm run build`, part of `npm pack`: writes the package to `dist`, each pod's program as one file. */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { GENERATOR_BUNDLE } from "../benchmarks/load/open-loop/bundle";
import { ARCHIVER_BUNDLE } from "../backup/archiver/bundle";
import { CONTROLLER_BUNDLE } from "../operations/controller/bundle";
import { RESTORER_BUNDLE } from "../backup/restorer/bundle";
import { ROOT } from "../lib/system/package";
import ROOMS from "./rooms.json";

const OUTPUT = join(ROOT, "dist");
/** These files are packed in place, not in `dist`. */
const IN_PLACE = ["cli", "components/plugin", "stacks"];

/** TypeScript's native compiler is a separate program and takes a fifth of the time. */
function compile(): void {
  rmSync(OUTPUT, { recursive: true, force: true });
  const compiler = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");
  execFileSync(process.execPath, [compiler, "--project", join(ROOT, "tsconfig.build.json")], { stdio: "inherit" });
}

/** Replaces all declarations by one file for each entry of the package, which needs only other packages. */
async function bundleDeclarations(): Promise<void> {
  const entries = readdirSync(join(OUTPUT, "exports")).filter((name) => name.endsWith(".d.ts"));
  const bundles = await Promise.all(
    entries.map(async (name) => {
      const path = join(OUTPUT, "exports", name);
      const bundle = await rollup({ input: path, external: /^[^./]/, plugins: [dts()] });
      const { output } = await bundle.generate({ format: "es" });
      return { path, text: output[0].code };
    }),
  );
  for (const name of readdirSync(OUTPUT, { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".d.ts")) rmSync(join(OUTPUT, name));
  for (const { path, text } of bundles) writeFileSync(path, text);
}

/** Files that are not compiled, such as shell scripts, Lua and JSON, next to the code that reads them. */
function copyOtherFiles(): void {
  for (const room of Object.keys(ROOMS))
    for (const entry of readdirSync(join(ROOT, room), { withFileTypes: true, recursive: true })) {
      const path = relative(ROOT, join(entry.parentPath, entry.name));
      const isInPlace = IN_PLACE.some((folder) => path.startsWith(`${folder}/`));
      const isNeeded = entry.isFile() && !isInPlace && !/\.m?ts$/.test(entry.name);
      if (isNeeded) cpSync(join(ROOT, path), join(OUTPUT, path));
    }
}

async function main(): Promise<void> {
  compile();
  await bundleDeclarations();
  copyOtherFiles();
  for (const { file, text } of [GENERATOR_BUNDLE, CONTROLLER_BUNDLE, ARCHIVER_BUNDLE, RESTORER_BUNDLE])
    writeFileSync(join(OUTPUT, relative(ROOT, file)), await text());
}

void main();
