/*
 * The file that Pulumi starts, through its own loader for plugins. That loader registers a TypeScript compiler which is
 * too old for this project. In a checkout this file replaces it by tsx, which `npm start` uses too.
 */
const { existsSync } = require("node:fs");
const { join } = require("node:path");

async function start() {
  // An installed package has only compiled code. A checkout may have compiled code too, but it may be outdated.
  if (!existsSync(join(__dirname, "serve.ts"))) return require("../../dist/components/plugin/serve.js");
  delete require.extensions[".ts"];
  await import("tsx");
  require("./serve");
}

void start();
