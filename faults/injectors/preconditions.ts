import { unmetDiskPrecondition, unmetPartitionPrecondition } from "../../platforms/host/side-effects";
import type { Scenario } from "../plan/scenario";

/** @param configured the deployment's own directives @returns the reason, and where the scenario can run */
export type PreconditionCheck = (
  scenario: Pick<Scenario, "fault" | "settings">,
  configured: ReadonlyMap<string, string>,
) => string | undefined;

export const unmetHostPrecondition: PreconditionCheck = ({ fault }) => {
  if (fault.kind === "cut-zone") return unmetPartitionPrecondition();
  return fault.kind === "full-disk" ? unmetDiskPrecondition() : undefined;
};

const UPGRADE_BY_IMAGE =
  "a pod runs the programs of its image: change the image of the deployment and run pulumi up, which upgrades node by node";

export const unmetPodPrecondition: PreconditionCheck = ({ fault, settings }, configured) => {
  // A recreated pod reads appendonly from its ConfigMap, before a directive can be set on it.
  const appendonly = configured.get("appendonly") ?? "no";
  if (fault.kind !== "cut-zone" && (settings.get("appendonly") ?? appendonly) !== appendonly)
    return "a recreated pod starts with the setting appendonly of its deployment: set appendonly in the settings of the deployment and run pulumi up";
  switch (fault.kind) {
    case "freeze-primary":
      return "the API server cannot pause the processes of a pod; the platform host can";
    case "full-disk":
      return (
        "a full disk could also break other pods, because volumes of several pods may share a disk of the machine; " +
        "on the platform host each server has a disk of its own"
      );
    case "scale":
      return "Pulumi creates the pods: change primaries or replicasPerPrimary and run pulumi up, which resizes the cluster";
    case "rolling-restart":
      return fault.home === undefined ? undefined : UPGRADE_BY_IMAGE;
    default:
      return undefined;
  }
};
