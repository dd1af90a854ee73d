/** The Pulumi program: configuration → platform → deployments → formation → verification → measurement → outputs. */
import * as pulumi from "@pulumi/pulumi";
import { BadInput, Failure } from "../../lib/errors";
import { program } from "./program";
import { readPulumiConfig } from "./pulumi-config";

/** Problems with the input and failures outside are printed without a stack trace. */
async function main(): Promise<Record<string, unknown>> {
  // Pulumi starts a program in the folder of its main file; results and relative paths belong to the project.
  const project = pulumi.getRootDirectory();
  if (project !== "") process.chdir(project);
  try {
    return await program(pulumi.getStack(), readPulumiConfig(pulumi.getStack()));
  } catch (error) {
    if (!(error instanceof BadInput || error instanceof Failure)) throw error;
    const refusal = new pulumi.RunError(error.message);
    // Pulumi inspects every error that has a stack trace, also those it shows without, which can take it a minute and
    // gigabytes.
    refusal.stack = "";
    throw refusal;
  }
}

export = main;
