/** Settings of every pod of a deployment: no rights in Kubernetes or on the machine, and its placement. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { Placement } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { scheduling } from "./placement";
import { POD_SECURITY_CONTEXT } from "./security-context";

export interface PodBasics {
  /** Time limit for the pod to stop, seconds. @default 30, as in Kubernetes */
  readonly graceSeconds?: number;
  /** Labels of all pods that are spread over the zones together with this pod. @default the labels of the servers */
  readonly labels?: Record<string, string>;
  /** Placement of the pod. @default the placement of the servers */
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
    ...(args.imagePullSecrets === undefined
      ? {}
      : { imagePullSecrets: args.imagePullSecrets.map((name) => ({ name })) }),
    ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
    ...scheduling(deployment, placement, labels),
  };
}
