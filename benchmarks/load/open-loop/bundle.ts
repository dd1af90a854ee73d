/** The generator as one file that needs nothing but Node: for a process on this machine and for a Job. */
import { build } from "esbuild";
import { join } from "node:path";

let bundled: Promise<string> | undefined;

/** CommonJS text; made once. */
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
    // hdr-histogram-js asks for zlib by eval, which is what works here.
    logOverride: { "direct-eval": "silent" },
  });
  return outputFiles[0]?.text ?? "";
}
