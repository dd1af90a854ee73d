/**
 * Version of this package in the program that declares a resource. The program sends the version to the provider with
 * the inputs. The provider removes the version from the inputs, so the state does not contain the version. Programs in
 * other languages do not use this package and send no version.
 */
import type { Problem } from "../lib/errors";
import { problem } from "../lib/errors";
import { VERSION } from "../lib/system/package";
import type { Values } from "./protocol/engine-values";

/** Name of the input that contains the version. */
const INPUT = "packageVersion";

/** Adds the version of this package to inputs. */
export function withPackageVersion<T extends object>(inputs: T): T {
  return { ...inputs, [INPUT]: VERSION };
}

/**
 * Removes the version from inputs. If the program's package has a different version than this provider, the result also
 * contains a problem.
 */
export function takePackageVersion(
  inputs: Values,
  version: string,
): { readonly inputs: Values; readonly problems: readonly Problem[] } {
  const { [INPUT]: required, ...others } = inputs;
  if (required === undefined || required === version) return { inputs: others, problems: [] };
  const reason =
    `the program's package valkey-measured has version ${JSON.stringify(required)}, but the provider that Pulumi found has ` +
    `${version}. Name the provider of the package in Pulumi.yaml: plugins: { providers: [{ name: valkey, path: ` +
    "node_modules/valkey-measured/plugin }] }";
  return { inputs: others, problems: [problem("other-package-version", "", reason)] };
}
