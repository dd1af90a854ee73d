/** The Pulumi program: configuration → platform → deployments → formation → verification → measurement → outputs. */
import * as pulumi from "@pulumi/pulumi";
import { BadInput, Failure } from "../../lib/errors";
import { program } from "./program";
import { readPulumiConfig } from "./pulumi-config";

/** Runs the program. Bad input, and failures outside this program, are printed without a stack trace. */
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
