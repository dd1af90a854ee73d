/*
 * What Pulumi's engine starts, through Pulumi's own loader for plugins. That one registers a compiler of TypeScript
 * which is too old for this project; in a checkout tsx, which `npm start` has too, takes its place.
 */
const { existsSync } = require("node:fs");
const { join } = require("node:path");

async function start() {
  // An installed package has compiled code alone. A checkout may have some too, of an earlier day.
  if (!existsSync(join(__dirname, "serve.ts"))) return require("../dist/plugin/serve.js");
  delete require.extensions[".ts"];
  await import("tsx");
  require("./serve");
}

void start();
