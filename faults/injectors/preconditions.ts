import { rowOf } from "../plan/fault";
import type { Scenario } from "../plan/scenario";

/** @param configured the deployment's own directives @returns the reason, and where the scenario can run */
export type PreconditionCheck = (
  scenario: Pick<Scenario, "fault" | "settings">,
  configured: ReadonlyMap<string, string>,
) => string | undefined;

export const unmetHostPrecondition: PreconditionCheck = ({ fault }) => rowOf(fault).unmetOnHost(fault);

export const unmetPodPrecondition: PreconditionCheck = ({ fault, settings }, configured) => {
  const { restartsNodes, unmetOnPods } = rowOf(fault);
  // A recreated pod reads appendonly from its ConfigMap, before a directive can be set on it.
  const appendonly = configured.get("appendonly") ?? "no";
  if (restartsNodes && (settings.get("appendonly") ?? appendonly) !== appendonly)
    return "a recreated pod starts with the setting appendonly of its deployment: set appendonly in the settings of the deployment and run pulumi up";
  return unmetOnPods(fault);
};
