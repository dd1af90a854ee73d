/** The one place that reads pulumi.Config. */
import { totalmem } from "node:os";
import * as pulumi from "@pulumi/pulumi";
import { availableCores } from "../../platforms/host/cpu";
import { parseConfig } from "../config/parse";
import type { StackConfig } from "../config/schema/stack";
import { SECTIONS } from "../config/schema/stack";
import { CONFIG_NAMESPACE } from "../config/sections/stack-file";

/** @throws BadInput with every problem */
export function readPulumiConfig(stack: string): StackConfig {
  const config = new pulumi.Config(CONFIG_NAMESPACE);
  const prefix = `${CONFIG_NAMESPACE}:`;
  // Known sections and whatever else stands in the namespace, so that a misspelt one is an error here too.
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

/** Sections are JSON; the schema refuses plain text. */
function read(config: pulumi.Config, name: string): unknown {
  const text = config.get(name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
