/**
 * Evaluates the program of one stack file as `pulumi preview` does, with mocks in the engine's place, in this process
 * of its own. Prints how long that took since the process began, how many resources there are, and the modules of cloud
 * SDKs that were loaded.
 *
 *   node --import tsx bench/processes/program-evaluate.ts STACK
 */
import { Session } from "node:inspector";
import * as pulumi from "@pulumi/pulumi";
import { parseConfig } from "../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { program } from "../../stacks/program/program";
import { acceptTransforms } from "../../tests/support/pulumi/mock-transforms";
import { readStackFile } from "../../stacks/config/sections/stack-file";

/** Modules that a stack on one machine has no use for, and that cost seconds to load. */
const CLOUD_SDK = /node_modules\/(@pulumi\/(?:aws|awsx|eks|kubernetes)|@kubernetes\/[^/]+)\//;
const MACHINE = { cores: 64, memoryBytes: 2 ** 40 };

async function evaluate(stack: string): Promise<void> {
  const config = parseConfig(`stack ${stack}`, readStackFile(STACKS_DIRECTORY, stack), MACHINE);
  // Outputs are unknown in a preview; what an account answers is not, and is asked for by stacks on EKS alone.
  const answers =
    config.platform.type === "eks" ? (await import("../../tests/support/pulumi/eks.js")).accountCalls : {};
  let resources = 0;
  await pulumi.runtime.setMocks(
    {
      newResource: ({ name, inputs }) => {
        resources++;
        return { id: name, state: inputs as Record<string, unknown> };
      },
      call: ({ token, inputs }) => answers[token]?.(inputs as Record<string, unknown>) ?? {},
    },
    "valkey",
    stack,
    true,
  );
  acceptTransforms();
  let failure: unknown;
  await pulumi.runtime.runInPulumiStack(async () => {
    try {
      return await program(stack, config);
    } catch (error) {
      failure = error;
      return undefined;
    }
  });
  await pulumi.runtime.disconnect();
  if (failure !== undefined) throw failure as Error;
  const seconds = performance.now() / 1000;
  process.stdout.write(`\n${JSON.stringify({ seconds, resources, sdkModules: await loadedModules(CLOUD_SDK) })}\n`);
}

/** Files that this process has loaded, of CommonJS and of ES modules alike, as its debugger knows them. */
async function loadedModules(pattern: RegExp): Promise<number> {
  const files = new Set<string>();
  const session = new Session();
  session.connect();
  session.on("Debugger.scriptParsed", ({ params: { url } }) => {
    if (pattern.test(url)) files.add(url);
  });
  await new Promise((resolve) => {
    session.post("Debugger.enable", resolve);
  });
  session.disconnect();
  return files.size;
}

const [, , name = ""] = process.argv;
void evaluate(name).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
