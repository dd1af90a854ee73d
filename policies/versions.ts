/** Charts and add-ons of versions that are named. */
import type { Rule } from "./rule";
import { textAt } from "./rule";

const exact = /^v?\d+\.\d+\.\d+([.+-].*)?$/;

export const pinnedCharts: Rule = {
  name: "pinned-charts",
  description: "A chart has an exact version: a range or none is another chart tomorrow.",
  check: ({ type, props }) => {
    if (!/^kubernetes:helm\.sh\/v[34]:(Chart|Release)$/.test(type)) return [];
    // A directory is what it is.
    if (/^(\.{0,2}\/)/.test(textAt(props, "chart") ?? "")) return [];
    const version = textAt(props, "version");
    return version !== undefined && exact.test(version) ? [] : [`version is ${version ?? "missing"}; an exact one, as 1.14.1`];
  },
};

export const pinnedAddons: Rule = {
  name: "pinned-addons",
  description: "An add-on of EKS has a version: without, the newest is taken at each update.",
  check: ({ type, props }) => {
    if (type === "aws:eks/addon:Addon" || type === "eks:index:Addon") return textAt(props, "addonVersion") === undefined ? [`addonVersion of ${textAt(props, "addonName") ?? "the add-on"} is missing`] : [];
    if (type !== "eks:index:Cluster") return [];
    return [
      ...(textAt(props, "version") === undefined ? ["version of the control plane is missing"] : []),
      ...(textAt(props, "vpcCniOptions", "addonVersion") === undefined ? ["vpcCniOptions.addonVersion is missing"] : []),
      ...(textAt(props, "kubeProxyAddonOptions", "enabled") !== "false" && textAt(props, "kubeProxyAddonOptions", "version") === undefined ? ["kubeProxyAddonOptions.version is missing"] : []),
    ];
  },
};
