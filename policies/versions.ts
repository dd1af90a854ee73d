import { compact } from "../lib/compact";
import { type Rule, entriesAt, hasProperty, hasInputs, listAt, textAt } from "./rule";

const exact = /^v?\d+\.\d+\.\d+([.+-].*)?$/;

/** Types of this project's components, which have the versions of their charts and add-ons as inputs. */
const OWN = /^valkey:/;

export const pinnedCharts: Rule = {
  name: "pinned-charts",
  description: "A chart has an exact version. A range may select a different chart tomorrow.",
  check: (resource) => {
    const { type, props } = resource;
    if (OWN.test(type)) return listAt(props, "charts").flatMap(loose);
    return /^kubernetes:helm\.sh\/v[34]:(Chart|Release)$/.test(type) && hasInputs(resource) ? loose(props) : [];
  },
};

function loose(chart: unknown): string[] {
  const from = textAt(chart, "chart") ?? "";
  // A local directory or archive has no version.
  if (/^\.{0,2}\//.test(from)) return [];
  const version = textAt(chart, "version");
  return version !== undefined && exact.test(version)
    ? []
    : [`version of the chart ${from} is ${version ?? "missing"}; set an exact version, such as 1.14.1`];
}

export const pinnedAddons: Rule = {
  name: "pinned-addons",
  description: "An EKS add-on has an exact version. Without one, each update installs the newest version.",
  check: (resource) => {
    const { type, props } = resource;
    if (OWN.test(type))
      return entriesAt(props, "addons")
        .filter(([, version]) => !exact.test(String(version)))
        .map(
          ([addon, version]) =>
            `version of ${addon} is ${String(version) || "missing"}; set an exact version, such as v1.22.3-eksbuild.1`,
        );
    switch (type) {
      case "aws:eks/addon:Addon":
        return hasProperty(props, "addonVersion")
          ? []
          : [`addonVersion of ${textAt(props, "addonName") ?? "the add-on"} is missing`];
      case "aws:eks/cluster:Cluster":
        return hasProperty(props, "version") ? [] : ["version of the control plane is missing"];
      case "eks:index:Cluster":
        return hasInputs(resource) ? ofComponent(props) : [];
      default:
        return [];
    }
  },
};

function ofComponent(props: unknown): string[] {
  return compact([
    textAt(props, "version") === undefined ? "version of the control plane is missing" : undefined,
    textAt(props, "vpcCniOptions", "addonVersion") === undefined ? "vpcCniOptions.addonVersion is missing" : undefined,
    textAt(props, "kubeProxyAddonOptions", "enabled") !== "false" &&
    textAt(props, "kubeProxyAddonOptions", "version") === undefined
      ? "kubeProxyAddonOptions.version is missing"
      : undefined,
  ]);
}
