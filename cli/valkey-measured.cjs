#!/usr/bin/env node
/* The command. It is not in `dist/`, because npm looks for this file before `dist/` is built. */
const { existsSync } = require("node:fs");
const { join } = require("node:path");

const source = join(__dirname, "main.ts");
if (existsSync(source)) {
  // This is a checkout, whose commands run from source.
  import("tsx").then(() => require(source));
} else require("../dist/cli/main.js");
