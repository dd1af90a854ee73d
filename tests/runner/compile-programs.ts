/**
 * Compiles each program that many tests start as a process into one file. The file loads in half of the processor time that the sources
 * take through tsx. In it, `__dirname` and `__filename` are those of the sources.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import type { TestProject } from "vitest/node";
import { ROOT } from "../../lib/system/package";

const DIRECTORY = join(ROOT, ".cache", "test-programs");
const COMPILED = "VALKEY_TEST_PROGRAMS_COMPILED";
const ENTRIES = [
  ...["cli/main.ts", "bench/run.ts"],
  ...["tests/support/valkey/resize-child.ts", "tests/support/valkey/repair-child.ts"],
];

/** @param entry path in the checkout, one of those above */
export const compiledProgram = (entry: string): string => join(DIRECTORY, entry.replace(/\.ts$/, ".cjs"));

export default async function compilePrograms(project: TestProject): Promise<void> {
  // Each project of the tests calls this.
  if (process.env[COMPILED] === "yes") return;
  process.env[COMPILED] = "yes";
  project.onTestsRerun(compile);
  await compile();
}

async function compile(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: DIRECTORY,
    outbase: ROOT,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    target: "node20",
    write: false,
    plugins: [
      {
        name: "paths of sources",
        setup: (compilation) => {
          compilation.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
            loader: "ts",
            contents: `const __filename = ${JSON.stringify(path)}, __dirname = ${JSON.stringify(dirname(path))}; ${readFileSync(path, "utf8").replace(/^#!.*/, "")}`,
          }));
        },
      },
    ],
  });
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    // Another run of the tests may be starting the program right now.
    writeFileSync(`${path}.${process.pid}`, contents);
    renameSync(`${path}.${process.pid}`, path);
  }
}
