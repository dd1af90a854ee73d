/*
 * What Pulumi's engine starts, through Pulumi's own loader for plugins. That one registers a compiler of TypeScript
 * which is too old for this project; tsx, which `npm start` has too, takes its place.
 */
const { existsSync } = require("node:fs");
const { join } = require("node:path");

async function start() {
  // A package that was installed holds compiled code.
  if (!existsSync(join(__dirname, "serve.js"))) {
    delete require.extensions[".ts"];
    await import("tsx");
  }
  require("./serve");
}

void start();
