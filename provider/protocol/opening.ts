/** Opens the deployment that a handler works on. */
import type { WaitOptions } from "../../lib/progress";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import type { Deployment } from "../../valkey/deployment";
import type { HandlerContext } from "./resource-handler";
import { waitOptions } from "./waiting";

/** Time limit for pods and servers to answer when a handler only inspects them, milliseconds. */
export const LOOK_MS = 15_000;

/** Inputs that every handler of a deployment has. */
interface DeploymentInputs {
  readonly target: DeploymentReference;
  readonly password: string;
}

/**
 * Waits until all pods run and all servers answer.
 * @param formerPassword password that is tried if a server refuses the present password
 * @returns the deployment, and the options for further waiting
 * @throws the errors of `openDeployment`
 */
export async function openForUpdate(
  { target, password, timeoutSeconds }: DeploymentInputs & { readonly timeoutSeconds: number },
  context: HandlerContext,
  formerPassword?: string,
): Promise<{ readonly deployment: Deployment; readonly options: WaitOptions }> {
  const options = waitOptions(target.name, timeoutSeconds, context);
  return { deployment: await openDeployment(target, password, options, formerPassword), options };
}

/**
 * Opens a deployment for a preview or a refresh, which must not wait for long.
 * @param timeoutMs time limit for pods and servers to answer
 * @throws the errors of `openDeployment`
 */
export function openToLook(
  { target, password }: DeploymentInputs,
  signal: AbortSignal,
  timeoutMs = LOOK_MS,
): Promise<Deployment> {
  return openDeployment(target, password, { timeoutMs, signal });
}
