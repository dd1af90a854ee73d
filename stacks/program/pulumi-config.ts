/** Reads pulumi.Config. No other file reads it. */
import { totalmem } from "node:os";
import * as pulumi from "@pulumi/pulumi";
import { availableCores } from "../../platforms/host/cpu";
import { parseConfig } from "../config/parse";
import type { StackConfig } from "../config/schema/stack";
import { SECTIONS } from "../config/schema/stack";
import { CONFIG_NAMESPACE } from "../config/sections/stack-file";

/** The configuration of the stack. @throws BadInput with every problem */
export function readPulumiConfig(stack: string): StackConfig {
  const config = new pulumi.Config(CONFIG_NAMESPACE);
  const prefix = `${CONFIG_NAMESPACE}:`;
  // Unknown keys of the namespace are read as well, so that a misspelt section is reported as an error.
  const names = new Set([
    ...Object.keys(SECTIONS),
    ...Object.keys(pulumi.runtime.allConfig()).flatMap((key) =>
      key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
    ),
  ]);
  const raw = Object.fromEntries(
    [...names].flatMap((name): [string, unknown][] => {
      const value = read(config, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return parseConfig(`stack ${stack}`, raw, { cores: availableCores(), memoryBytes: totalmem() });
}

/** Value of a section. Sections are JSON. Text that is not JSON is returned as it is, and the schema refuses it. */
function read(config: pulumi.Config, name: string): unknown {
  const text = config.get(name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
