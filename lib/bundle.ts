import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

export interface Bundle {
  /** A checkout has no such file, and bundles the program on demand. */
  readonly file: string;
  readonly text: () => Promise<string>;
}

export function programBundle(file: string, entry: string): Bundle {
  let text: Promise<string> | undefined;
  return { file, text: () => (text ??= existsSync(file) ? readFile(file, "utf8") : bundle(entry)) };
}

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
    // node-fetch has this package for versions of Node.js without URL. Its tables of characters need 3 MB of memory.
    alias: { "whatwg-url": "node:url" },
    // hdr-histogram-js loads zlib with eval. This works in Node.js, so the warning is not shown.
    logOverride: { "direct-eval": "silent" },
  });
  return outputFiles[0]?.text ?? "";
}
