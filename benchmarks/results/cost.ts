import type { DeploymentCost, Results, MeasuredTopology } from "./schema";
import { formatUsd, usdPerMillionOperations, usdPerGibMonth } from "../../lib/dollars";

type Costs = Pick<Results, "costs">;

export function rowCost(
  { costs = [] }: Costs,
  { deployment, rps }: { readonly deployment: string; readonly rps: { readonly median: number } },
): number | null {
  const cost = costs.find((each) => each.deployment === deployment);
  return cost === undefined ? null : (usdPerMillionOperations(cost.usdPerHour, rps.median) ?? null);
}

/** maxmemory if it is set, otherwise the memory request of the server's pod. */
type DataLimit = "maxmemory" | "requested memory";

export function dataLimitOf({ settings }: Pick<MeasuredTopology, "settings">): DataLimit {
  return Number(settings["maxmemory"] ?? 0) > 0 ? "maxmemory" : "requested memory";
}

export function storageCost(
  { costs = [] }: Costs,
  { deployment, nodes, settings }: Pick<MeasuredTopology, "deployment" | "nodes" | "settings">,
): number | null {
  const cost = costs.find((each) => each.deployment === deployment);
  const primaries = nodes.filter(({ role }) => role === "primary").length;
  if (cost === undefined) return null;
  const bytes = dataLimitOf({ settings }) === "maxmemory" ? Number(settings["maxmemory"]) : (cost.memoryBytes ?? 0);
  return usdPerGibMonth(cost.usdPerHour, primaries * bytes) ?? null;
}

export function describeCost({ usdPerHour, machines, region, date }: DeploymentCost): string {
  const counted = machines.map(({ type, count }) => `${Number.isInteger(count) ? count : count.toFixed(2)} × ${type}`);
  return `$${formatUsd(usdPerHour)} per hour: ${counted.join(", ")}, on-demand prices of ${region} on ${date}`;
}
