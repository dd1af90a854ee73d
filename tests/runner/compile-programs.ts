/**
 * Programs that many tests start as processes, each as one file: it loads with a third of the work that loading the sources through tsx is.
 * Their paths of files stay those of the sources.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../../lib/system/package";

const DIRECTORY = join(ROOT, ".cache", "test-programs");
const COMPILED = "VALKEY_TEST_PROGRAMS_COMPILED";
const ENTRIES = [
  ...["cli/main.ts", "bench/run.ts"],
  ...["tests/support/valkey/resize-child.ts", "tests/support/valkey/repair-child.ts"],
];

/** @param entry path in the checkout, one of those above */
export const compiledProgram = (entry: string): string => join(DIRECTORY, entry.replace(/\.ts$/, ".cjs"));

export default async function compilePrograms(): Promise<void> {
  // Each project of the tests calls this.
  if (process.env[COMPILED] === "yes") return;
  process.env[COMPILED] = "yes";
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
            // On the same line, so that lines of errors stay those of the source.
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
