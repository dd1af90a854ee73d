#!/usr/bin/env node
/* The command of the package. It is not in `dist/`, because npm looks for this file before `dist/` is built. */
require("../dist/cli/main.js");
