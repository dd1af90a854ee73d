// Runs in the Pulumi engine's own Node process, from the text in the state (provider/dynamic-resource.ts).
exports.handler = () => {
  const { existsSync } = require("node:fs");
  const { createRequire } = require("node:module");
  const { dirname, join } = require("node:path");
  let root = process.cwd();
  while (!existsSync(join(root, "Pulumi.yaml")) && root !== dirname(root)) root = dirname(root);
  const load = createRequire(join(root, "Pulumi.yaml"));
  load("tsx/cjs");
  return load("./provider/dynamic-provider.ts").dynamicProvider(HANDLER);
};
