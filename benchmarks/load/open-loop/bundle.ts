/** The open-loop generator as one file that needs only Node: for a process on this machine and for a Job. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The name of the file that the package brings beside this one. A checkout makes its text when it is needed. */
export const BUNDLE_FILE = "open-loop.cjs";

let bundled: Promise<string> | undefined;

/** CommonJS text, read or made once per process. */
export function generatorBundle(): Promise<string> {
  const file = join(__dirname, BUNDLE_FILE);
  bundled ??= existsSync(file) ? readFile(file, "utf8") : bundle(join(__dirname, "main.ts"));
  return bundled;
}

/** A program and all that it imports, as CommonJS text. @param entry its file */
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
    // hdr-histogram-js loads zlib by eval, which works in Node.
    logOverride: { "direct-eval": "silent" },
  });
  return outputFiles[0]?.text ?? "";
}
