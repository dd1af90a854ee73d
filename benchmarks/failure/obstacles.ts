/** Why a fault cannot be inflicted, by where the servers are. */
import { obstacleToCuts, obstacleToDisks } from "../host/scars";
import type { FaultKind } from "./fault";

/** On processes of this machine: what this user may not do here, or what the machine lacks. */
export function hostObstacle(fault: FaultKind): string | undefined {
  if (fault === "cut-zone") return obstacleToCuts();
  return fault === "full-disk" ? obstacleToDisks() : undefined;
}

/** On pods. Pure. */
export function podObstacle(fault: FaultKind): string | undefined {
  switch (fault) {
    case "freeze-primary":
      return "a pod's processes cannot be stopped and continued by way of the API server; on the platform host they can";
    case "full-disk":
      return "a volume may be a machine's disk, which other pods share: filling it would break them as well; on the platform host servers have disks of their own";
    case "scale":
      return "pods are made by Pulumi: change primaries or replicasPerPrimary and run pulumi up, which resizes while it serves";
    default:
      return undefined;
  }
}
