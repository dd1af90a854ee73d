/** Security contexts of all pods and containers. They meet the restricted Pod Security Standard. Pure. */
import type { types } from "@pulumi/kubernetes";

/**
 * ID of the user and of the group. It is above 10000, so that no user of the machine has this ID. The group owns the
 * files of a volume.
 */
const USER = 10_001;

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
