/** Why a scenario cannot run on a platform. */
import { unmetDiskPrecondition, unmetPartitionPrecondition } from "../../platforms/host/side-effects";
import type { Scenario } from "../plan/scenario";

/**
 * @param configured directives of the deployment, without the scenario's
 * @returns the reason, and where the scenario can run; undefined where it can run here
 */
export type PreconditionCheck = (
  scenario: Pick<Scenario, "fault" | "settings">,
  configured: ReadonlyMap<string, string>,
) => string | undefined;

/** On processes of this machine: what this user or this machine lacks. */
export const unmetHostPrecondition: PreconditionCheck = ({ fault }) => {
  if (fault.kind === "cut-zone") return unmetPartitionPrecondition();
  return fault.kind === "full-disk" ? unmetDiskPrecondition() : undefined;
};

const UPGRADE_BY_IMAGE =
  "a pod's programs are its image's: change the deployment's image and run pulumi up, which upgrades node by node";

/** On pods. Pure. */
export const unmetPodPrecondition: PreconditionCheck = ({ fault, settings }, configured) => {
  // A recreated pod reads appendonly from its ConfigMap before any directive can be set on it.
  const appendonly = configured.get("appendonly") ?? "no";
  if (fault.kind !== "cut-zone" && (settings.get("appendonly") ?? appendonly) !== appendonly)
    return "a recreated pod starts with its deployment's appendonly: set appendonly there and run pulumi up";
  switch (fault.kind) {
    case "freeze-primary":
      return "the API server cannot pause a pod's processes; platform host can";
    case "full-disk":
      return (
        "a volume may share the machine's disk with other pods, which a full disk would break too; " +
        "on platform host each server has a disk of its own"
      );
    case "scale":
      return "Pulumi makes the pods: change primaries or replicasPerPrimary and run pulumi up, which resizes it";
    case "rolling-restart":
      return fault.home === undefined ? undefined : UPGRADE_BY_IMAGE;
    default:
      return undefined;
  }
};
