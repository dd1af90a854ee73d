/** What the restricted Pod Security Standard asks for, the same for every container of ours. Pure. */
import type { types } from "@pulumi/kubernetes";

/** Above 10000, so that it is nobody's on the machine. Files of a volume belong to it through the group. */
const USER = 10_001;

export const POD_SECURITY_CONTEXT = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  // Without this, every start of a pod walks through its whole volume.
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
