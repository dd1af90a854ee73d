/**
 * Loaded by Node before the Pulumi program (`nodeargs` in Pulumi.yaml), so that a preview starts sooner.
 *
 * Pulumi's SDK loads the TypeScript compiler and npm's dependency resolver with its first file. It needs them only to
 * serialize functions into the state, and the resources of this project have none. Both are loaded when one of their members is first used.
 */
import Module from "node:module";

// Node 22 and later keep compiled code on disk.
Module.enableCompileCache?.();

const SLOW_MODULES = new Set(["typescript", "@npmcli/arborist"]);
const load = Module._load;

Module._load = function (request, parent, isMain) {
  if (!SLOW_MODULES.has(request)) return load.call(this, request, parent, isMain);
  // Fails here, and not later, where the module is not installed: Pulumi then has a TypeScript of its own.
  Module._resolveFilename(request, parent, isMain);
  let loaded;
  const module = () => (loaded ??= load.call(this, request, parent, isMain));
  return new Proxy(function () {}, {
    get: (_target, key) => (key === "__esModule" && loaded === undefined ? true : module()[key]),
    has: (_target, key) => key in module(),
    apply: (_target, self, args) => Reflect.apply(module(), self, args),
    construct: (_target, args) => Reflect.construct(module(), args),
  });
};
