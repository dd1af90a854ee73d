/**
 * The open-loop generator as a single file that needs only Node.js. It is used for a process on this machine and for a
 * Job.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Name of the bundle. The package contains it in this directory. A checkout creates its text when it is needed. */
export const BUNDLE_FILE = "open-loop.cjs";

let bundled: Promise<string> | undefined;

/** The bundle as CommonJS text. It is read or created once per process. */
export function generatorBundle(): Promise<string> {
  const file = join(__dirname, BUNDLE_FILE);
  bundled ??= existsSync(file) ? readFile(file, "utf8") : bundle(join(__dirname, "main.ts"));
  return bundled;
}

/** A program with everything that it imports, as CommonJS text. @param entry file of the program */
export async function bundle(entry: string): Promise<string> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minify: true,
    legalComments: "none",
    write: false,
    // hdr-histogram-js loads zlib with eval, which works in Node.js.
    logOverride: { "direct-eval": "silent" },
  });
  return outputFiles[0]?.text ?? "";
}
