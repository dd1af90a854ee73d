/** The open-loop generator as one file that needs only Node: for a process on this machine and for a Job. */
import { build } from "esbuild";
import { join } from "node:path";

let bundled: Promise<string> | undefined;

/** CommonJS text, built once per process. */
export function generatorBundle(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(__dirname, "main.ts")],
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
