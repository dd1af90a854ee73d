/**
 * The version of the package whose program declares a resource. It goes to the provider with the inputs, which keeps it
 * out of the state. Programs in other languages have no package of ours, and send none.
 */
import { VERSION } from "../lib/system/package";
import type { Values } from "./protocol/engine-values";
import type { InputProblem } from "./protocol/resource-handler";

/** The input of every resource that carries it. */
const INPUT = "packageVersion";

/** Inputs with the version of this package. */
export function withPackageVersion<T extends object>(inputs: T): T {
  return { ...inputs, [INPUT]: VERSION };
}

/** Inputs as they were before `withPackageVersion`, and the problem of a program whose package has another version. */
export function takePackageVersion(
  inputs: Values,
  version: string,
): { readonly inputs: Values; readonly problems: readonly InputProblem[] } {
  const { [INPUT]: required, ...others } = inputs;
  if (required === undefined || required === version) return { inputs: others, problems: [] };
  const reason =
    `the program's package valkey-measured has version ${JSON.stringify(required)}, and the provider that Pulumi found has ` +
    `${version}. Name the provider of the package in Pulumi.yaml: plugins: { providers: [{ name: valkey, path: ` +
    "node_modules/valkey-measured/plugin }] }";
  return { inputs: others, problems: [{ property: "", reason }] };
}
