/** What every pod of a deployment has: no rights in Kubernetes, none on its machine, and its zones. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { Placement } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { scheduling } from "./placement";
import { POD_SECURITY_CONTEXT } from "./security-context";

export interface PodBasics {
  /** For it to end by itself. @default Kubernetes' own, 30 s */
  readonly graceSeconds?: number;
  /** Of pods that are no servers, to be spread among themselves. @default the servers' */
  readonly labels?: Record<string, string>;
  /** @default the servers' */
  readonly placement?: Placement;
}

export function podBasics(
  { deployment, names, args }: DeploymentContext,
  { graceSeconds, labels, placement = args.placement }: PodBasics,
): Omit<types.input.core.v1.PodSpec, "containers"> {
  return {
    serviceAccountName: names.serviceAccount,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: POD_SECURITY_CONTEXT,
    ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
    ...scheduling(deployment, placement, labels),
  };
}
