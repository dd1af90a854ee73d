/** The deployments of a stack that has been deployed by Pulumi, as its state has them. */
import { execFile } from "node:child_process";
import { z } from "zod";
import { BadInput, codeOf, Failure } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";

/** A deployment, and the password to ask it with. */
export interface DeployedTarget {
  readonly target: DeploymentReference;
  readonly password: string;
}

/** The check of a deployment is its last resource, and has what reaches the nodes. */
const CHECK = "valkey:index:DeploymentVerification";
/** A state of thousands of nodes has many megabytes. */
const MAX_STATE_BYTES = 2 ** 30;

const stateSchema = z.object({
  deployment: z.object({
    resources: z
      .array(z.object({ type: z.string(), inputs: z.record(z.string(), z.unknown()).optional() }))
      .default([]),
  }),
});
/** How a state holds a secret: under a key that Pulumi's engine reserves, with its value as JSON. */
const secretSchema = z.object({ "4dabf18193072939515e22adb298388d": z.string(), plaintext: z.string() });
const targetSchema = z.looseObject({ platform: z.enum(["endpoints", "kubernetes"]), name: z.string() });

/**
 * Runs `pulumi` of the PATH, whose project is the one in `directory`. Secrets stay in this process.
 * @throws BadInput when there is no such stack, or it has no deployments @throws Failure when Pulumi does not answer
 */
export async function deployedTargets(stack: string, directory: string): Promise<DeployedTarget[]> {
  const text = await exportState(stack, directory);
  const { resources } = stateSchema.parse(JSON.parse(text)).deployment;
  const targets = targetsOf(resources);
  if (targets.length === 0) throw new BadInput(`stack ${stack}`, ["has no deployments; pulumi up makes them"]);
  return targets;
}

/** Pure. */
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

/** A value of a state without the wrapping of secrets. */
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
      else reject(new BadInput(`stack ${stack}`, [stderr.trim().replace(/^error: /, "")]));
    });
  });
}
