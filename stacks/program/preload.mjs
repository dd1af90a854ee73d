/**
 * Node loads this file before the Pulumi program (`nodeargs` in Pulumi.yaml), so that a preview starts sooner.
 *
 * Pulumi's SDK loads the TypeScript compiler and npm's dependency resolver as soon as it is imported. It needs them
 * only to serialize functions into the state, and the resources of this project have no functions. So this file delays
 * both: each is loaded when one of its members is first used.
 */
import Module from "node:module";

// Node 22 and later can keep compiled code on disk.
Module.enableCompileCache?.();

const SLOW_MODULES = new Set(["typescript", "@npmcli/arborist"]);
const load = Module._load;

Module._load = function (request, parent, isMain) {
  if (!SLOW_MODULES.has(request)) return load.call(this, request, parent, isMain);
  // If the module is not installed, this fails here and not later. Pulumi then uses its own copy of TypeScript.
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
