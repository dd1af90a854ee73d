/** Deployments by name: of a stack that Pulumi has deployed, read from the stack's state, or of a kept run. */
import { execFile } from "node:child_process";
import { z } from "zod";
import { BadInput, codeOf, Failure } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { keptDeployments } from "../../platforms/kept-deployments";

export interface DeployedTarget {
  readonly target: DeploymentReference;
  readonly password: string;
}

/** The inputs of this resource contain the reference and the password. */
const CHECK = "valkey:index:DeploymentVerification";
/** The state of a stack with thousands of nodes has many megabytes. */
const MAX_STATE_BYTES = 2 ** 30;

const stateSchema = z.object({
  deployment: z.object({
    resources: z
      .array(z.object({ type: z.string(), inputs: z.record(z.string(), z.unknown()).optional() }))
      .default([]),
  }),
});
/** A secret in a state: an object with a key that Pulumi reserves, and the value as JSON. */
const secretSchema = z.object({ "4dabf18193072939515e22adb298388d": z.string(), plaintext: z.string() });
const targetSchema = z.looseObject({ platform: z.enum(["endpoints", "kubernetes"]), name: z.string() });

/**
 * Reads the state with the `pulumi` in the PATH. Secrets stay in this process.
 * @param stack name of the stack, or ID of a kept run
 */
export async function deployedTargets(stack: string, directory: string): Promise<readonly DeployedTarget[]> {
  const kept = keptDeployments(stack);
  if (kept !== undefined) return kept;
  const text = await exportState(stack, directory);
  const targets = targetsOf(stateSchema.parse(JSON.parse(text)).deployment.resources);
  if (targets.length === 0)
    throw BadInput.of(`stack ${stack}`, "no-deployments", "has no deployments; pulumi up creates them");
  return targets;
}

export function findTarget(targets: readonly DeployedTarget[], name: unknown): DeployedTarget | undefined {
  return name === undefined && targets.length === 1 ? targets[0] : targets.find(({ target }) => target.name === name);
}

export function targetsOf(
  resources: readonly { readonly type: string; readonly inputs?: Readonly<Record<string, unknown>> | undefined }[],
): DeployedTarget[] {
  return resources
    .filter(({ type }) => type === CHECK)
    .map(({ inputs }) => {
      const { target, password } = plain(inputs) as Readonly<Record<string, unknown>>;
      targetSchema.parse(target);
      return { target: target as DeploymentReference, password: z.string().parse(password) };
    });
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const secret = secretSchema.safeParse(value);
  if (secret.success) return plain(JSON.parse(secret.data.plaintext));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

function exportState(stack: string, cwd: string): Promise<string> {
  const args = ["stack", "export", "--show-secrets", "--non-interactive", "--stack", stack];
  return new Promise((resolve, reject) => {
    execFile("pulumi", args, { cwd, maxBuffer: MAX_STATE_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (codeOf(error) === "ENOENT") reject(new Failure("pulumi is not in the PATH"));
      else reject(BadInput.of(`stack ${stack}`, "no-such-stack", stderr.trim().replace(/^error: /, "")));
    });
  });
}
