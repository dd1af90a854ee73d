/** Settings of every pod of a deployment: no rights in Kubernetes or on the machine, and its placement. */
import type { types } from "@pulumi/kubernetes";
import type { PullPolicy } from "../../../model/pods";
import type { Placement } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { scheduling } from "./placement";

/** Above 10000, so that no user of the machine has this ID. The group owns the files of a volume. */
const USER = 10_001;

/** With the context of containers it meets the restricted Pod Security Standard. */
export const POD_SECURITY_CONTEXT = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  // Without this policy every start of a pod changes the owner of every file of its volume.
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
} as const satisfies types.input.core.v1.PodSecurityContext;

export const CONTAINER_SECURITY_CONTEXT = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  allowPrivilegeEscalation: false,
  privileged: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
} satisfies types.input.core.v1.SecurityContext;

interface PodBasics {
  /** Time limit for the pod to stop, seconds. @default 30, as in Kubernetes */
  readonly graceSeconds?: number;
  /** Labels of all pods that are spread over the zones together with this pod. @default the labels of the servers */
  readonly labels?: Record<string, string>;
  /** @default the placement of the servers */
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

export function pullPolicy(image: string, asked: PullPolicy | undefined): PullPolicy {
  return asked ?? (image.includes("@sha256:") ? "IfNotPresent" : "Always");
}
