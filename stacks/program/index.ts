/** The Pulumi program: configuration → platform → deployments → formation → verification → measurement → outputs. */
import { totalmem } from "node:os";
import * as pulumi from "@pulumi/pulumi";
import { BadInput, Failure } from "../../lib/errors";
import { program } from "./program";
import { availableCores } from "../../platforms/host/cpu";
import { parseConfig } from "../config/parse";
import { type StackConfig, SECTIONS } from "../config/schema/stack";
import { CONFIG_NAMESPACE } from "../config/sections/stack-file";

/** Bad input, and failures outside this program, are printed without a stack trace. */
async function main(): Promise<Record<string, unknown>> {
  // Pulumi starts a program in the folder of its main file, but results and relative paths refer to the project's
  // folder.
  const project = pulumi.getRootDirectory();
  if (project !== "") process.chdir(project);
  try {
    return await program(pulumi.getStack(), readPulumiConfig(pulumi.getStack()));
  } catch (error) {
    if (!(error instanceof BadInput || error instanceof Failure)) throw error;
    const refusal = new pulumi.RunError(error.message);
    // Pulumi inspects every error that has a stack trace, even if it shows the error without it. That can take a minute
    // and gigabytes of memory.
    refusal.stack = "";
    throw refusal;
  }
}

export = main;

function readPulumiConfig(stack: string): StackConfig {
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

/** Text that is not JSON is returned as it is, and the schema refuses it. */
function read(config: pulumi.Config, name: string): unknown {
  const text = config.get(name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
