/** The package's version is sent with the inputs, but is not in the state. Other languages send none. */
import { type Problem, problem } from "../../lib/errors";
import { VERSION } from "../../lib/system/package";
import type { Values } from "../protocol/engine-values";

const INPUT = "packageVersion";

export function withPackageVersion<T extends object>(inputs: T): T {
  return { ...inputs, [INPUT]: VERSION };
}

/** With a problem if the program's package has a different version than this provider. */
export function takePackageVersion(
  inputs: Values,
  version: string,
): { readonly inputs: Values; readonly problems: readonly Problem[] } {
  const { [INPUT]: required, ...others } = inputs;
  if (required === undefined || required === version) return { inputs: others, problems: [] };
  const reason =
    `the program's package valkey-measured has version ${JSON.stringify(required)}, but the provider that Pulumi found has ` +
    `${version}. Name the provider of the package in Pulumi.yaml: plugins: { providers: [{ name: valkey, path: ` +
    "node_modules/valkey-measured/components/plugin }] }";
  return { inputs: others, problems: [problem("other-package-version", "", reason)] };
}
