/** Why a scenario cannot be carried out, by where the servers are. */
import { unmetPartitionPrecondition, unmetDiskPrecondition } from "../../platforms/host/side-effects";
import type { Scenario } from "../plan/fault";

/** @param configured directives of the deployment, without the scenario's. @returns undefined where nothing stands in its way */
export type PreconditionCheck = (
  scenario: Pick<Scenario, "fault" | "settings">,
  configured: ReadonlyMap<string, string>,
) => string | undefined;

/** On processes of this machine: what this user may not do here, or what the machine lacks. */
export const unmetHostPrecondition: PreconditionCheck = ({ fault }) => {
  if (fault.kind === "cut-zone") return unmetPartitionPrecondition();
  return fault.kind === "full-disk" ? unmetDiskPrecondition() : undefined;
};

/** On pods. Pure. */
export const unmetPodPrecondition: PreconditionCheck = ({ fault, settings }, configured) => {
  // Other settings are put in force again on pods that are made anew; this one has to be there when they read their files.
  const appendonly = configured.get("appendonly") ?? "no";
  if (fault.kind !== "cut-zone" && (settings.get("appendonly") ?? appendonly) !== appendonly)
    return "a pod that is made anew starts with the appendonly of its deployment: set it there and run pulumi up";
  switch (fault.kind) {
    case "freeze-primary":
      return "a pod's processes cannot be stopped and continued by way of the API server; on the platform host they can";
    case "full-disk":
      return "a volume may be a machine's disk, which other pods share: filling it would break them as well; on the platform host servers have disks of their own";
    case "scale":
      return "pods are made by Pulumi: change primaries or replicasPerPrimary and run pulumi up, which resizes while it serves";
    case "rolling-restart":
      return fault.home === undefined
        ? undefined
        : "pods are of their image: change the deployment's image and run pulumi up, which upgrades node by node";
    default:
      return undefined;
  }
};
