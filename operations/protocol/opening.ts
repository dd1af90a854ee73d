import type { WaitOptions } from "../../lib/progress";
import { type DeploymentReference, openDeployment, openPodDeployment } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { Deployment } from "../../valkey/deployment";
import type { HandlerContext } from "./resource-handler";
import { waitOptions } from "./waiting";

/** Time limit for pods and servers to answer when a handler only inspects them, milliseconds. */
export const LOOK_MS = 15_000;

interface DeploymentInputs {
  readonly target: DeploymentReference;
  readonly password: string;
}

/** Waits for all servers. @param formerPassword tried if the present one is refused @throws as `openDeployment` */
export async function openForUpdate(
  { target, password, timeoutSeconds }: DeploymentInputs & { readonly timeoutSeconds: number },
  context: HandlerContext,
  formerPassword?: string,
): Promise<{ readonly deployment: Deployment; readonly options: WaitOptions }> {
  const options = waitOptions(target.name, timeoutSeconds, context);
  return { deployment: await openDeployment(target, password, options, formerPassword), options };
}

interface LookOpening {
  readonly signal: AbortSignal;
  /** Time limit for pods and servers to answer, milliseconds. @default 15000 */
  readonly timeoutMs?: number | undefined;
  /** Client of the API server of a deployment on Kubernetes. @default a new client */
  readonly kubernetes?: KubernetesClient | undefined;
}

/** For a preview or a refresh, which must not wait for long. @throws the errors of `openDeployment` */
export function openToLook(
  { target, password }: DeploymentInputs,
  { signal, timeoutMs = LOOK_MS, kubernetes }: LookOpening,
): Promise<Deployment> {
  const waiting = { timeoutMs, signal };
  return target.platform === "kubernetes" && kubernetes !== undefined
    ? openPodDeployment(kubernetes, target, password, waiting)
    : openDeployment(target, password, waiting);
}
