/** Opens the deployment that a handler works on. */
import type { WaitOptions } from "../../lib/progress";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment, openPodDeployment } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { Deployment } from "../../valkey/deployment";
import type { SharedConnections } from "../../valkey/shared-connections";
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

/** Options for opening a deployment that a preview or a refresh inspects. */
interface LookOpening {
  readonly signal: AbortSignal;
  /** Time limit for pods and servers to answer, milliseconds. @default 15000 */
  readonly timeoutMs?: number | undefined;
  /** Client of the API server of a deployment on Kubernetes. @default a new client */
  readonly kubernetes?: KubernetesClient | undefined;
  /** Connections that all steps of the inspection share. @default each step opens its own */
  readonly connections?: SharedConnections | undefined;
}

/**
 * Opens a deployment for a preview or a refresh, which must not wait for long.
 * @throws the errors of `openDeployment`
 */
export function openToLook(
  { target, password }: DeploymentInputs,
  { signal, timeoutMs = LOOK_MS, kubernetes, connections }: LookOpening,
): Promise<Deployment> {
  const waiting = { timeoutMs, signal, connections };
  return target.platform === "kubernetes" && kubernetes !== undefined
    ? openPodDeployment(kubernetes, target, password, waiting)
    : openDeployment(target, password, waiting);
}
